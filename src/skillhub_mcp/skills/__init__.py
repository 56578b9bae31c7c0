"""What is a skill? Reading, discovering and naming skills; nothing here knows of search or of MCP."""
