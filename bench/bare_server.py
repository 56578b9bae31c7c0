"""The least that a FastMCP server can be: one tool over stdio. What our start-up is measured against."""

from __future__ import annotations

from fastmcp import FastMCP

server = FastMCP("bare")


@server.tool
def echo(text: str) -> str:
    """Return the text."""
    return text


server.run(transport="stdio", show_banner=False)
