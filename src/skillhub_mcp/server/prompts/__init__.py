"""MCP prompts: one for each skill, one that starts a session, and the completion of arguments."""
