"""A fixed sequence of actions."""
