"""What happened: the record of a run, and the context through which a run meets the outside."""
