"""Who decides: policies and roles that turn a view into an action. Prompts are files beside them."""
