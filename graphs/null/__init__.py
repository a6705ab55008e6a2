"""The null graph: a template, and the floor of benchmarks."""
