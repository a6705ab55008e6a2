"""A seeded baseline."""
