"""The null world: a template, and the floor of benchmarks."""
