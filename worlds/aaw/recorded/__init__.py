"""The replay world: it answers as a record says that it answered before."""
