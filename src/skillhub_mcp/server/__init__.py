"""The MCP server: the hub's functions as tools, resources and prompts, over stdio and Streamable HTTP."""

from __future__ import annotations

import os

# FastMCP reads these when it is first imported: no .env file of the directory that a client starts the server in, no
# check for newer versions on the network, no log format of its own.
os.environ["FASTMCP_ENV_FILE"] = os.devnull
os.environ["FASTMCP_CHECK_FOR_UPDATES"] = "off"
os.environ["FASTMCP_LOG_ENABLED"] = "false"
# No spans of its own either, which hold the text of every error; `observers.open_telemetry` makes the hub's.
os.environ["FASTMCP_TELEMETRY_MODE"] = "propagation_only"
