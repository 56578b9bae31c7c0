"""SkillHub for an agent of Pydantic AI. Needs pydantic-ai-slim[mcp].

agent = Agent("openai:gpt-5", toolsets=[over_stdio()])
"""

from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset

URL = "http://127.0.0.1:8000/mcp"


def over_stdio(command="skillhub-mcp", args=(), env=None):
    # The hub's instructions tell the model when to search for a skill.
    return MCPToolset(StdioTransport(command, list(args), env=env), include_instructions=True)


def over_http(url=URL):
    return MCPToolset(url, include_instructions=True)
