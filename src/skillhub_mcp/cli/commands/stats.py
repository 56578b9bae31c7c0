"""`skillhub stats`: what was used, what never, and what was searched for in vain, from the usage log."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillhub_mcp.cli.arguments import add_json_option, add_setting_options
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, note, print_json, say
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.settings import read_settings

if TYPE_CHECKING:
    from skillhub_mcp.hub import SkillHub
    from skillhub_mcp.usage import Usage

_SHOWN = 10


def add_parser(verbs: Any) -> None:
    """Say what may be typed."""
    parser = verbs.add_parser(
        "stats",
        help="print which skills were used, and what was searched for in vain",
        description="Read the usage log that SKILLHUB_USAGE_LOG names. Nothing is noted unless that is set, and "
        "nothing leaves this machine.",
    )
    parser.add_argument("log", nargs="?", metavar="LOG", help="another log (default: SKILLHUB_USAGE_LOG)")
    add_json_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print what the log comes to, beside the skills that are served now."""
    from skillhub_mcp.usage import read_usage

    path = args.log or read_settings(os.environ, options)[0].observability.usage_log
    if not path:
        raise InvalidArgument(
            "LOG", "is missing", hint="set SKILLHUB_USAGE_LOG to a file for the server, and use some skills first"
        )
    usage = read_usage(path)
    note_unreadable(usage, path)
    with open_hub(options) as hub:
        served = served_handles(hub)
    never = [handle for handle in served if handle not in usage.loads]
    used = sorted(usage.loads.items(), key=lambda item: (-item[1], item[0]))
    missed = sorted(usage.missed.items(), key=lambda item: (-item[1], item[0]))
    if args.json:
        print_json(
            {
                "searches": usage.searches,
                "used": dict(used),
                "read": usage.reads,
                "never_used": never,
                "searched_without_success": dict(missed),
                "unreadable_lines": usage.unreadable,
            }
        )
        return EXIT_OK
    say(f"{usage.searches:,} searches, {sum(usage.loads.values()):,} loads, {sum(usage.reads.values()):,} files read")
    _list("Used", [f"{count:>5,}  {name}" for name, count in used])
    _list(f"Never used, of {len(served):,} served", [f"       {name}" for name in never])
    _list("Searched without success", [f"{count:>5,}  {query}" for query, count in missed])
    return EXIT_OK


def served_handles(hub: SkillHub) -> list[str]:
    """Return what the skills are loaded by that are served and whose name no other has."""
    return [one.handle for one in hub.listed() if one.served and one.shadowed_by is None]


def note_unreadable(usage: Usage, path: str) -> None:
    """Say on stderr how many lines of the log at `path` were skipped, where any were, and which was the first."""
    if usage.unreadable:
        note(f"{path}:{usage.unreadable[0]} is no note of a use; lines skipped: {len(usage.unreadable):,}")


def _list(title: str, lines: list[str]) -> None:
    if not lines:
        return
    say(f"\n{title}:")
    for line in lines[:_SHOWN]:
        say(line)
    if len(lines) > _SHOWN:
        say(f"       … and {len(lines) - _SHOWN:,} more; --json lists them all")
