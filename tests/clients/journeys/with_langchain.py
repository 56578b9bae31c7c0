"""LangChain's adapters, through the example for them."""

import asyncio

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.resources import load_mcp_resources
from langchain_tools import HTTP, STDIO, skillhub
from steps import Reached, show, target, walk


def connection():
    to = target()
    if isinstance(to, str):
        return {**HTTP, "url": to}
    command, arguments, environment = to
    return {**STDIO, "command": command, "args": arguments, "env": environment}


async def main():
    async with skillhub(connection()) as (tools, instructions):
        by_name = {tool.name: tool for tool in tools}

        async def call(tool, arguments):
            called = {"type": "tool_call", "id": "1", "name": tool, "args": arguments}
            message = await by_name[tool].ainvoke(called)
            return message.content[0]["text"], message.status == "error"

        client = MultiServerMCPClient({"skillhub": connection()})
        async with client.session("skillhub", auto_initialize=False) as session:
            protocol = (await session.initialize()).protocolVersion
            loaded = await load_mcp_resources(session)
        blobs = {str(blob.metadata["uri"]): blob.as_string() for blob in loaded}

        async def read(uri):
            return blobs[uri]

        show(await walk(Reached(protocol, instructions, list(by_name), list(blobs), call, read)))


asyncio.run(main())
