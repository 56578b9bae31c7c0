"""Does a skill keep to the rules, and what would mend it? Reads skills; knows nothing of hubs, indexes or MCP."""
