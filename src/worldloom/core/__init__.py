"""The words everything else is written in: errors, events, content, strict YAML and the registry."""
