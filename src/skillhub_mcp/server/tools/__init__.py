"""The sets of tools. A tool returns the hub's answer in MCP's form; it decides nothing and catches nothing."""
