"""`skillhub call`: call any MCP tool of any set, in this process, and print its JSON."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillhub_mcp.cli.arguments import decode_argument
from skillhub_mcp.cli.console import one_line, print_table
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, print_json
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.settings import TOOL_SETS, settings_of

if TYPE_CHECKING:
    from mcp.types import Tool


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("tool", nargs="?", metavar="TOOL", help="name of the tool; without one, list the tools")
    parser.add_argument("arguments", nargs="*", metavar="key=value", help="arguments of the tool")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Call an MCP tool as a client would, without a server, and print its result as JSON. Every set of tools can be
    called, whatever SKILLHUB_TOOLS has. A value is JSON if the tool expects no text: limit=3, tags='["a"]'.
    """
    return asyncio.run(_run(args, options))


async def _run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    from fastmcp import Client

    from skillhub_mcp.bootstrap.server import server_options
    from skillhub_mcp.server.app import make_server

    settings = settings_of({**options, "SKILLHUB_TOOLS": ",".join(TOOL_SETS)})
    with open_hub(options) as hub:
        server = make_server(hub, server_options(settings, hub))
        async with Client(server) as client:
            tools = {tool.name: tool for tool in await client.list_tools()}
            if args.tool is None:
                return _list(tools, as_json=args.json)
            if args.tool not in tools:
                raise InvalidArgument("TOOL", f"{args.tool!r} is not a tool", hint=f"one of {', '.join(sorted(tools))}")
            arguments = dict(_argument(typed, tools[args.tool]) for typed in args.arguments)
            result = await client.call_tool(args.tool, arguments, raise_on_error=False)
    if result.structured_content is not None and not result.is_error:
        print_json(result.structured_content)
    else:
        texts = [getattr(block, "text", None) or block.model_dump(mode="json") for block in result.content]
        print_json(_as_json(texts[0]) if len(texts) == 1 else [_as_json(text) for text in texts])
    return EXIT_FAILED if result.is_error else EXIT_OK


def _list(tools: Mapping[str, Tool], *, as_json: bool) -> int:
    if as_json:
        described = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in tools.values()]
        return print_json({"tools": described})
    rows = [
        (name, ", ".join(tool.input_schema.get("properties", {})), one_line(tool.description or "", width=None))
        for name, tool in tools.items()
    ]
    print_table(("tool", "arguments", "what it does"), rows)
    return EXIT_OK


def _argument(typed: str, tool: Tool) -> tuple[str, Any]:
    """Return one argument; a value that the tool does not take as text is read as JSON. Raises InvalidArgument."""
    name, equals, value = decode_argument(typed).partition("=")
    known = tool.input_schema.get("properties", {})
    if not equals or name not in known:
        hint = f"{tool.name} takes {', '.join(f'{one}=…' for one in known)}"
        raise InvalidArgument(repr(typed), "is not an argument of the tool", hint=hint)
    is_text = any(one.get("type") == "string" for one in (known[name], *known[name].get("anyOf", ())))
    return name, value if is_text else _as_json(value)


def _as_json(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text
