"""What may be called: empty so far."""
