"""MCP only: the hub's verbs as tools, over stdio and Streamable HTTP."""

from __future__ import annotations

import os

# FastMCP reads these when it is first imported, by whichever module here: no .env file of whatever directory a client
# starts us in, no look-up of newer versions on the network, no log format of its own.
os.environ["FASTMCP_ENV_FILE"] = os.devnull
os.environ["FASTMCP_CHECK_FOR_UPDATES"] = "off"
os.environ["FASTMCP_LOG_ENABLED"] = "false"
# Nor spans of its own, which hold the text of every error: ours are made by `observers.open_telemetry`.
os.environ["FASTMCP_TELEMETRY_MODE"] = "propagation_only"
