"""FastMCP's client of 4.2, which reads skills natively: it lists them, and checks every file against its digest."""

import asyncio

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.skills import SkillsClientExtension
from steps import show, target


async def main():
    to = target()
    transport = to if isinstance(to, str) else StdioTransport(to[0], to[1], env=to[2], keep_alive=False)
    async with Client(transport, extensions=[SkillsClientExtension()]) as client:
        read = {skill.uri: await client.read_skill(skill.uri) for skill in await client.list_skills()}
        show({"protocol": client.protocol_version, "skills": {uri: sorted(skill.files) for uri, skill in read.items()}})


asyncio.run(main())
