"""`skillhub connect`: register the server with the programs that use it, such as Cursor."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from skillhub_mcp.cli.arguments import Group
from skillhub_mcp.cli.client_parser import add_client_options

# As in `clients/links.py`, which is loaded when one is asked for.
LINKED = ("cursor", "lm-studio", "vscode", "vscode-insiders")


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "connect",
        group=Group.SERVE,
        everyday=True,
        help="have Cursor, VS Code, Claude and others use SkillHub",
        description="Register SkillHub with clients: show what changes in their files, ask, write, and start the "
        "server as they would. Whatever else is in a file stays as it is, and `skillhub disconnect` gives it back.",
    )
    parser.add_argument("--list", action="store_true", help="list the clients: installed, connected, and where")
    parser.add_argument("--print", dest="printing", action="store_true", help="print the entry, and change nothing")
    parser.add_argument("--link", choices=LINKED, help="print the link that adds it to this client with one click")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--http", metavar="URL", help="use the server that is running at this address")
    how.add_argument(
        "--stdio", action="store_true", help="have the client start a server, also where it uses one at an address"
    )
    parser.add_argument(
        "--token-variable", metavar="NAME", help="with --http: the environment variable that holds the token"
    )
    parser.add_argument(
        "--env",
        action="append",
        metavar="NAME[=VALUE]",
        help="a setting for the server; a name alone is taken from the client's environment",
    )
    add_client_options(parser, every="every client that is installed here")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Connect the clients. Fails where a file was left alone, or its server does not answer. Raises InvalidArgument."""
    if args.link is not None:
        from skillhub_mcp.cli.client_link import print_link

        return print_link(args, options)
    from skillhub_mcp.cli.connecting import connect

    return connect(args, options)
