"""The agent-context tools' catalogue, search and loading, on top of the hub's own scan."""
