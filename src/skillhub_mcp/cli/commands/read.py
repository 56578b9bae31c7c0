"""`skillhub read`: a file of a skill, as it is."""

from __future__ import annotations

import argparse
import base64
import sys
from collections.abc import Mapping
from typing import Any

from skillhub_mcp.cli.arguments import add_json_option, add_setting_options
from skillhub_mcp.cli.hubs import open_hub
from skillhub_mcp.cli.output import EXIT_OK, print_json


def add_parser(verbs: Any) -> None:
    """Say what may be typed."""
    parser = verbs.add_parser(
        "read", help="print a file of a skill", description="Print a file of a skill, whole and byte for byte."
    )
    parser.add_argument("name", help="the skill's name")
    parser.add_argument("file", help="the file, relative to the skill")
    parser.add_argument("--offset", type=int, default=0, help="first byte to print (default: 0)")
    add_json_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the file; with --json, the one chunk that an agent would get."""
    with open_hub(options) as hub:
        chunk = hub.read_file(args.name, args.file, offset=args.offset)
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
        while True:
            as_text = chunk.encoding == "utf-8"
            sys.stdout.buffer.write(chunk.content.encode() if as_text else base64.b64decode(chunk.content))
            if chunk.next_offset is None:
                break
            chunk = hub.read_file(args.name, args.file, offset=chunk.next_offset)
    sys.stdout.buffer.flush()
    return EXIT_OK
