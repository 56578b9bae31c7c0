"""Skills: discovering, parsing and naming them. Independent of search and of MCP."""
