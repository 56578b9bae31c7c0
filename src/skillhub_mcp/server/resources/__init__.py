"""Skills as MCP resources: the skills extension (SEP-2640), plain resources, and the notifications about both."""
