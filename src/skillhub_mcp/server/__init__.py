"""The MCP server: the hub's functions as tools, resources and prompts, over stdio and Streamable HTTP.

app              builds the server from the hub and its options
callers          the caller of the present request
cursors          refuses cursors that are too long to be any
error_responses  errors in MCP's form
http/            the HTTP transport: tokens, rate limits, workers, shutdown
middleware/      what happens around every request: errors, sessions, agreement, hooks, instructions
progress         progress notifications, and cancelled calls
prompts/         prompts and completion
resources/       skills as resources, and notifications of changes
stdio            serving over stdio until the client, or a signal, ends it
tools/           the tool sets
unreadable       answers over stdio to what is no JSON-RPC
"""

from __future__ import annotations

import os

# FastMCP reads these when it is first imported: no .env file of the directory that a client starts the server in, no
# check for newer versions on the network, no log format of its own.
os.environ["FASTMCP_ENV_FILE"] = os.devnull
os.environ["FASTMCP_CHECK_FOR_UPDATES"] = "off"
os.environ["FASTMCP_LOG_ENABLED"] = "false"
# No spans of its own either, which hold the text of every error; `observers.open_telemetry` makes the hub's.
os.environ["FASTMCP_TELEMETRY_MODE"] = "propagation_only"
