"""The guide to hosts names the clients that the journeys are made with, and their versions."""

from __future__ import annotations

import json
import re
from pathlib import Path

PROJECT = Path(__file__).parents[2]
GUIDE = (PROJECT / "docs" / "guides" / "connect.md").read_text(encoding="utf-8")
LIBRARY_GUIDE = (PROJECT / "docs" / "guides" / "install.md").read_text(encoding="utf-8")
NAMES = {
    "sdk1": "MCP Python SDK",
    "fastmcp": "FastMCP client",
    "langchain": "LangChain MCP adapters",
    "openai_agents": "OpenAI Agents SDK",
    "pydantic_ai": "Pydantic AI",
    "@modelcontextprotocol/client": "MCP TypeScript client",
    "@modelcontextprotocol/sdk": "MCP TypeScript SDK",
    "@modelcontextprotocol/inspector": "MCP Inspector",
}
LIBRARIES = {
    "sdk1": "mcp",
    "fastmcp": "fastmcp-slim",
    "langchain": "langchain-mcp-adapters",
    "openai_agents": "openai-agents",
    "pydantic_ai": "pydantic-ai-slim",
}


def pinned() -> dict[str, str]:
    versions = {}
    for name, library in LIBRARIES.items():
        text = (PROJECT / "tests" / "clients" / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
        found = re.search(rf"^{library}(?:\[\w+\])?==(\S+)$", text, re.MULTILINE)
        assert found is not None, name
        versions[name] = found[1]
    for folder in ("clients", "conformance"):
        manifest = json.loads((PROJECT / "tests" / folder / "package.json").read_text(encoding="utf-8"))
        versions |= manifest["dependencies"]
    return versions


def test_the_guide_names_the_tested_version_of_every_client() -> None:
    versions = pinned()
    suite = versions.pop("@modelcontextprotocol/conformance")
    assert f"`@anthropic-ai/mcpb` {versions.pop('@anthropic-ai/mcpb')} accepts" in GUIDE
    assert f"`npx skills` (tried with {versions.pop('skills')})" in LIBRARY_GUIDE
    tried = re.findall(r"^\| (\w[^|]*?) (\d\S*) \|", GUIDE, re.MULTILINE)
    assert sorted(tried) == sorted((NAMES[name], at) for name, at in versions.items())
    assert f"conformance suite of the MCP project, {suite}," in GUIDE
