"""AI-Work: graph, scorer, summary."""
