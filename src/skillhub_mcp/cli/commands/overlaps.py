"""`skillhub overlaps`: which skills compete for the same queries, so that their descriptions can be mended."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from skillhub_mcp.cli.arguments import add_json_option, add_setting_options, whole_number
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, print_json, say, terminal_progress
from skillhub_mcp.errors import InvalidArgument


def add_parser(verbs: Any) -> None:
    """Say what may be typed."""
    parser = verbs.add_parser(
        "overlaps",
        help="print which skills compete for the same queries",
        description="Ask for each skill by its own description, and print which others answer nearly as well.",
    )
    parser.add_argument(
        "--least",
        type=whole_number,
        default=80,
        metavar="PERCENT",
        help="of a skill's own score (default: %(default)s)",
    )
    parser.add_argument(
        "--limit", type=whole_number, default=50, metavar="N", help="pairs at most (default: %(default)s)"
    )
    add_json_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the pairs, the closest first."""
    from skillhub_mcp.evaluation.overlaps import find_overlaps

    for option in ("least", "limit"):
        if getattr(args, option) < 1:
            raise InvalidArgument(f"--{option}", "must be at least 1")
    # What is compared here is no use of a skill.
    with open_hub({**options, "SKILLHUB_USAGE_LOG": ""}) as hub:
        found = find_overlaps(hub, least=args.least / 100, progress=terminal_progress())
    if args.json:
        print_json({"overlaps": [asdict(one) for one in found[: args.limit]], "pairs": len(found)})
        return EXIT_OK
    for one in found[: args.limit]:
        say(f"{one.share:4.0%}  {one.skill}  {one.rival}" + ("  (nearly the same text)" if one.copy else ""))
        if one.shared:
            say(f"      by: {', '.join(one.shared)}")
    if not found:
        say("No two skills compete.")
    elif len(found) > args.limit:
        say(f"… and {len(found) - args.limit:,} more pairs; --limit shows them")
    return EXIT_OK
