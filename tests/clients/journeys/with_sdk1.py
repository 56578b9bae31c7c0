"""The official SDK 1.x."""

import asyncio
from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from steps import Reached, show, target, walk


@asynccontextmanager
async def streams(to):
    if isinstance(to, str):
        async with streamablehttp_client(to) as (read, write, _):
            yield read, write
        return
    command, arguments, environment = to
    async with stdio_client(StdioServerParameters(command=command, args=arguments, env=environment)) as pair:
        yield pair


async def main():
    async with streams(target()) as (incoming, outgoing), ClientSession(incoming, outgoing) as session:
        started = await session.initialize()

        async def call(tool, arguments):
            result = await session.call_tool(tool, arguments)
            return result.content[0].text, result.isError

        async def read(uri):
            return (await session.read_resource(uri)).contents[0].text

        tools = [tool.name for tool in (await session.list_tools()).tools]
        resources = [str(resource.uri) for resource in (await session.list_resources()).resources]
        show(await walk(Reached(started.protocolVersion, started.instructions, tools, resources, call, read)))


asyncio.run(main())
