"""The OpenAI Agents SDK, through the example for it."""

import asyncio

from openai_agents_server import over_http, over_stdio, skillhub
from steps import Reached, show, target, walk


def server():
    to = target()
    if isinstance(to, str):
        return over_http(to)
    command, arguments, environment = to
    return over_stdio({"command": command, "args": arguments, "env": environment})


async def main():
    async with skillhub(server()) as (connected, instructions):

        async def call(tool, arguments):
            result = await connected.call_tool(tool, arguments)
            return result.content[0].text, bool(result.is_error)

        async def read(uri):
            return (await connected.read_resource(uri)).contents[0].text

        protocol = connected.session.protocol_version
        tools = [tool.name for tool in await connected.list_tools()]
        resources = [str(resource.uri) for resource in (await connected.list_resources()).resources]
        show(await walk(Reached(protocol, instructions, tools, resources, call, read)))


asyncio.run(main())
