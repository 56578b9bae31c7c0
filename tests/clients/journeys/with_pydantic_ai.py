"""Pydantic AI, through the example for it."""

import asyncio
import json

from pydantic_ai import ModelRetry
from pydantic_ai_toolset import over_http, over_stdio
from steps import Reached, show, target, walk


def toolset():
    to = target()
    return over_http(to) if isinstance(to, str) else over_stdio(*to)


async def main():
    async with toolset() as connected:

        async def call(tool, arguments):
            try:
                result = await connected.direct_call_tool(tool, arguments)
            except ModelRetry as retry:
                return retry.message, True
            # What is structured is handed on as such, and not as the text that says the same.
            return result if isinstance(result, str) else json.dumps(result), False

        protocol = connected.client.protocol_version
        instructions = (await connected.get_instructions(None)).content
        tools = [tool.name for tool in await connected.list_tools()]
        resources = [resource.uri for resource in await connected.list_resources()]
        show(await walk(Reached(protocol, instructions, tools, resources, call, connected.read_resource)))


asyncio.run(main())
