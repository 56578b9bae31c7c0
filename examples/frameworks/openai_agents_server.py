"""SkillHub for an agent of the OpenAI Agents SDK. Needs openai-agents.

async with skillhub() as (server, instructions):
    agent = Agent(name="Worker", instructions=instructions, mcp_servers=[server])
"""

from contextlib import asynccontextmanager

from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

COMMAND = {"command": "skillhub-mcp"}
URL = "http://127.0.0.1:8000/mcp"


def over_stdio(params=COMMAND):
    return MCPServerStdio(params, cache_tools_list=True)


def over_http(url=URL):
    return MCPServerStreamableHttp({"url": url}, cache_tools_list=True)


@asynccontextmanager
async def skillhub(server=None):
    """Yield the server and the instructions, which the SDK does not give to the model."""
    async with server or over_stdio() as connected:
        yield connected, connected.session.instructions
