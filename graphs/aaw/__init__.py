"""Agent-as-a-World: graph, scorer, export."""
