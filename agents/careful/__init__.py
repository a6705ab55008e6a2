"""Reference agent: the careful path of the scenario."""
