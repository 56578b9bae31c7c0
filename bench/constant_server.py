"""A FastMCP server over HTTP whose one tool returns a constant: the least that an answer of that size can take."""

from __future__ import annotations

import json
import socket
import sys

import uvicorn
from fastmcp import FastMCP
from fastmcp.tools.base import ToolResult

reply = json.loads(sys.argv[1])
server = FastMCP("constant")


@server.tool
def search_skills(query: str) -> ToolResult:  # noqa: ARG001 - asked the same as ours
    """Return the constant."""
    return ToolResult(content=json.dumps(reply, ensure_ascii=False, separators=(",", ":")), structured_content=reply)


# With the protocol named: else asyncio does not know it for TCP, and each answer waits for an acknowledgement.
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
listener.bind(("127.0.0.1", 0))
listener.listen()
print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", file=sys.stderr)
app = server.http_app(path="/mcp")
uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, ws="none")).run(sockets=[listener])
