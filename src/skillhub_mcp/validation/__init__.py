"""Validation of skills: findings, advice, fixes and SARIF. Independent of hubs, indexes and MCP."""
