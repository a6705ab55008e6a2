"""Kind `aaw`: entities with state and actions, one seat called `agent`, one action a turn."""
