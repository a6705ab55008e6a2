"""What may be called: the tool protocol, sandbox and jobs, and the research methods as rooms of their own."""
