"""`skillhub read`: print a file of a skill unchanged."""

from __future__ import annotations

import argparse
import base64
import sys
from collections.abc import Mapping
from typing import Any

from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options, skill_argument, whole_number
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, print_json
from skillhub_mcp.cli.pager import add_pager_option, paged
from skillhub_mcp.cli.progress_line import hide_progress
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.sanitize import on_terminal


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "read",
        group=Group.FIND,
        help="print a file of a skill",
        description="Print a file of a skill, complete and byte for byte.",
    )
    parser.add_argument("name", metavar="NAME", help="name, name@source or path of the skill")
    parser.add_argument("file", metavar="FILE", help="path relative to the skill")
    parser.add_argument(
        "--offset", type=whole_number, metavar="BYTE", default=0, help="first byte to print (default: 0)"
    )
    add_json_option(parser)
    add_pager_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=paged(run))


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the file; with --json, the one chunk that an agent would receive.

    On a terminal, control characters are escaped, and a binary file raises InvalidArgument.
    """
    name = skill_argument(args.name)
    if not args.file.strip():
        raise InvalidArgument("FILE", "is empty", hint="`skillhub show NAME` lists the files of a skill")
    with open_hub(options) as hub:
        # What is shown is read as a text, what is written to a file or a program stays as it is.
        to_terminal = sys.stdout.isatty()
        as_stored = not (args.json or to_terminal)
        chunk = hub.read_file(name, args.file, offset=args.offset, as_stored=as_stored)
        if args.json:
            print_json(
                {
                    "content": chunk.content,
                    "encoding": chunk.encoding,
                    "truncated": chunk.truncated,
                    "size": chunk.size,
                    "next_offset": chunk.next_offset,
                    "media_type": chunk.media_type,
                }
            )
            return EXIT_OK
        hide_progress()
        while True:
            binary = chunk.encoding == "base64"
            if to_terminal and binary:
                raise InvalidArgument(
                    args.file, "is binary and not printed on a terminal", hint="redirect it to a file: > FILE"
                )
            if to_terminal:
                sys.stdout.write(on_terminal(chunk.content))
            else:
                sys.stdout.buffer.write(base64.b64decode(chunk.content) if binary else chunk.content.encode())
            if chunk.next_offset is None:
                break
            chunk = hub.read_file(name, args.file, offset=chunk.next_offset, as_stored=as_stored)
    sys.stdout.flush()
    return EXIT_OK
