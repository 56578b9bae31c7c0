"""`skillhub resolve`: the skills that a text mentions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from skillhub_mcp.chosen_roots import project_of
from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options, decode_argument
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, print_json, print_note, print_text
from skillhub_mcp.cli.pager import add_pager_option, paged
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import settings_of

_WHY = {
    "unknown": "is not a known skill",
    "ambiguous": "is the name of several skills",
    "off": "is disabled or denied",
}


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "resolve",
        group=Group.FIND,
        help="print the skills that a text mentions",
        description="Print the skills that a text mentions, as $name, as [$name](path), or by the path of a SKILL.md.",
    )
    parser.add_argument("text", metavar="TEXT", help="text in quotes, or - for standard input")
    add_json_option(parser)
    add_pager_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=paged(run))


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print each skill once, in the order of the text, and on stderr the mentions that could not be resolved."""
    settings = settings_of(options)
    text = sys.stdin.read() if args.text == "-" else decode_argument(args.text)
    with open_hub(options) as hub:
        resolution = hub.resolve(text, cwd=project_of(settings).cwd)
    if args.json:
        print_json(
            {
                "skills": [
                    {"name": skill.name, "handle": skill.handle, "path": skill.directory} for skill in resolution.skills
                ],
                "unresolved": [
                    {"mention": one.mention, "why": one.why, "candidates": list(one.candidates)}
                    for one in resolution.unresolved
                ],
            }
        )
        return EXIT_OK
    for skill in resolution.skills:
        print_text(f"{in_line(skill.handle)}  {in_line(skill.directory)}")
    for one in resolution.unresolved:
        among = f": {in_line(', '.join(one.candidates))}" if one.candidates else ""
        print_note(f"{in_line(one.mention)} {_WHY[one.why]}{among}")
    return EXIT_OK
