"""`skillhub overlaps`: pairs of skills that compete for the same queries, so that their descriptions can be fixed."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options, whole_number
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, print_json, print_text
from skillhub_mcp.cli.pager import add_pager_option, paged
from skillhub_mcp.cli.progress_line import terminal_progress
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.sanitize import in_line


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "overlaps",
        group=Group.WRITE,
        help="list skills that compete for the same queries",
        description="Search for each skill by its own description, and list the others that score nearly as high.",
    )
    parser.add_argument(
        "--least",
        type=whole_number,
        default=80,
        metavar="PERCENT",
        help="minimum share of a skill's own score; from 100 on, the other one comes first (default: %(default)s)",
    )
    parser.add_argument(
        "--limit", type=whole_number, default=50, metavar="N", help="maximum number of pairs (default: %(default)s)"
    )
    add_json_option(parser)
    add_pager_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=paged(run))


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the pairs, highest share first."""
    from skillhub_mcp.evaluation.overlaps import find_overlaps

    for option in ("least", "limit"):
        if getattr(args, option) < 1:
            raise InvalidArgument(f"--{option}", "must be at least 1")
    # Comparing skills is not a use of them, so it is not logged.
    with terminal_progress() as progress, open_hub({**options, "SKILLHUB_USAGE_LOG": ""}) as hub:
        found = find_overlaps(hub, least=args.least / 100, progress=progress)
    if args.json:
        print_json({"overlaps": [asdict(one) for one in found[: args.limit]], "pairs": len(found)})
        return EXIT_OK
    for one in found[: args.limit]:
        print_text(
            f"{one.share:4.0%}  {in_line(one.skill)}  {in_line(one.rival)}"
            + ("  (nearly the same text)" if one.copy else "")
        )
        if one.shared:
            print_text(f"      by: {in_line(', '.join(one.shared))}")
    if not found:
        print_text("No overlapping skills found.")
    elif len(found) > args.limit:
        print_text(f"… and {len(found) - args.limit:,} more pairs; --limit shows them")
    return EXIT_OK
