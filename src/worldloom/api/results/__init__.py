"""Results: what became of runs, as values: scores, who failed, what changed between two passes or sides."""
