"""How they act together: one LangGraph state machine per system, each a room that knows no other room."""
