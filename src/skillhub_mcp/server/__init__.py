"""MCP only: the hub's verbs as tools, over stdio and Streamable HTTP."""
