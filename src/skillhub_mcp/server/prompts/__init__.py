"""MCP prompts: one for each skill, one that begins a session, and completion of their arguments."""
