"""Where words come from: one contract, and the back ends that answer to it."""
