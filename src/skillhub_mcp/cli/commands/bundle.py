"""`skillhub bundle`: write this installation as an MCP bundle for Claude Desktop."""

from __future__ import annotations

import argparse
import hashlib
import os
from collections.abc import Mapping

from skillhub_mcp.cli.console import print_note, print_text
from skillhub_mcp.cli.output import EXIT_OK, print_json, write_file
from skillhub_mcp.clients.bundle import SUFFIX, make_bundle
from skillhub_mcp.errors import InvalidArgument

_NEXT = (
    "In Claude Desktop: Settings, Extensions, Advanced settings, Install Extension.",
    "Its first start fetches the libraries that SkillHub needs, about 170 MB.",
)


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("file", nargs="?", metavar="FILE", help="file or directory (default: skillhub-VERSION.mcpb)")


def run(args: argparse.Namespace, _: Mapping[str, str]) -> int:
    """Write this installation as an MCP bundle, which Claude Desktop and other hosts install with one click. Their own
    uv fetches the libraries. The same installation always gives the same bytes.
    """
    place = args.file or os.curdir
    into_directory = os.path.isdir(place)
    if not into_directory and not place.endswith(SUFFIX):
        raise InvalidArgument("FILE", f"{place!r} does not end with {SUFFIX}", hint=f"skillhub bundle {place}{SUFFIX}")
    bundle = make_bundle()
    path = os.path.normpath(os.path.join(place, bundle.file_name)) if into_directory else place
    write_file(path, bundle.content, argument="FILE")
    if args.json:
        sha256 = hashlib.sha256(bundle.content).hexdigest()
        report = {"file": os.path.abspath(path), "version": bundle.version}
        print_json(report | {"bytes": len(bundle.content), "sha256": sha256})
    else:
        print_text(path)
        print_note(*_NEXT)
    return EXIT_OK
