"""SkillHub's tools for a LangChain agent. Needs langchain-mcp-adapters.

async with skillhub() as (tools, instructions):
    agent = create_agent("openai:gpt-5", tools, system_prompt=instructions)
"""

from contextlib import asynccontextmanager

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

STDIO = {"transport": "stdio", "command": "skillhub-mcp", "args": []}
HTTP = {"transport": "http", "url": "http://127.0.0.1:8000/mcp"}


@asynccontextmanager
async def skillhub(connection=STDIO):
    """Yield the tools and the instructions, which the adapter does not give to the model."""
    client = MultiServerMCPClient({"skillhub": connection})
    # One session for all calls: otherwise the adapter starts a session, over stdio a process, for each call.
    async with client.session("skillhub", auto_initialize=False) as session:
        instructions = (await session.initialize()).instructions
        yield await load_mcp_tools(session), instructions
