"""Serving: vLLM started with the right flags, watched while it runs, and stopped with all that it has spawned."""
