"""Places: what there is, what can be done there, and what follows from it. Scenarios stand in library/."""
