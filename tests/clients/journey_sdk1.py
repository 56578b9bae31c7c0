"""The journey of a client on the official SDK 1.x, run by that SDK's own Python: `journey_sdk1.py stdio|http …`."""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


async def journey(read, write):
    async with ClientSession(read, write) as session:
        started = await session.initialize()

        async def call(tool, **arguments):
            result = await session.call_tool(tool, arguments)
            assert not result.isError, result
            return json.loads(result.content[0].text)

        tools = [tool.name for tool in (await session.list_tools()).tools]
        found = (await call("search_skills", query="read a PDF"))["skills"][0]["name"]
        loaded = await call("load_skill", skill_name=found)
        read_file = await call("read_skill_file", skill_name=found, file_path="references/a.md")
        failed = await session.call_tool("load_skill", {"skill_name": "nope"})
        print(
            json.dumps(
                {
                    "protocol": started.protocolVersion,
                    "tools": tools,
                    "found": found,
                    "instructions": loaded["instructions"],
                    "file": read_file["content"],
                    "failed": [failed.isError, failed.content[0].text.split(":")[0]],
                }
            )
        )


async def main(transport, *where):
    if transport == "http":
        async with streamablehttp_client(where[0]) as (read, write, _):
            await journey(read, write)
        return
    server = StdioServerParameters(command=where[0], args=["-m", "skillhub_mcp"], env=json.loads(where[1]))
    async with stdio_client(server) as (read, write):
        await journey(read, write)


asyncio.run(main(*sys.argv[1:]))
