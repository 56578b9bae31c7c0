"""The MCP server: the hub's functions as tools, resources and prompts, over stdio and Streamable HTTP.

app               builds the server from the hub and its options
callers           the caller of the present request
error_responses   errors in MCP's form, and the middleware that catches them
http/             the HTTP transport: tokens, rate limits, workers, shutdown
middleware/       what happens around every request: sessions, agreement, hooks, instructions
middleware_types  the parameters of middleware methods
notifications     notifications of changed lists and files
options           what one server offers
progress          progress notifications, and cancelled calls
prompts           prompts and completion
resources         skills as resources
stdio             serving over stdio until the client, or a signal, ends it
tools/            the tool sets
"""

from __future__ import annotations

from skillhub_mcp.environment import forget_fastmcp_settings

# A program that embeds the server does not pass through `__main__`.
forget_fastmcp_settings()
