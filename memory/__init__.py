"""What is remembered: stores, retrieval, confidence, and when each thing became known."""
