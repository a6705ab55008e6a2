"""The model world: a language model says what an action does, and code says whether it may."""
