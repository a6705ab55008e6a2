"""Policies for a gig market that decide by fixed rules and simple learning, for a whole cohort at once."""
