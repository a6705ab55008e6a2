"""Reference agent: the literal path of the scenario."""
