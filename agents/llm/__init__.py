"""The agent that is a language model."""
