"""`skillhub disconnect`: take the server out of clients' files again, or give these back as they were."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from skillhub_mcp.cli.arguments import Group
from skillhub_mcp.cli.client_parser import add_client_options


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "disconnect",
        group=Group.SERVE,
        help="take SkillHub out of clients' files again",
        description="Take SkillHub out of clients' files. A file that nobody touched since `skillhub connect` gets its "
        "very bytes back; of any other, only our entry goes. The last hundred copies are in ~/.skillhub/backups.",
    )
    parser.add_argument("--restore", action="store_true", help="give the files back as the newest copies have them")
    add_client_options(parser, every="every client that is connected")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Disconnect the clients. Fails where a file was left alone. Raises InvalidArgument."""
    from skillhub_mcp.cli.disconnecting import disconnect

    return disconnect(args, options)
