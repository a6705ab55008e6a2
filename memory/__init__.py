"""What is remembered: empty so far."""
