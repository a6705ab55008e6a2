"""Plans: what a run will play, from what somebody asks for, and from the manifest that the record holds of it."""
