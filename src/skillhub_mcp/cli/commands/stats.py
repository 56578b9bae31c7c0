"""`skillhub stats`: which skills were used, which never were, and which searches led to none."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping

from skillhub_mcp._util.wording import plural
from skillhub_mcp.cli.console import print_line, print_note, print_text
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, first_lines, print_json
from skillhub_mcp.environment import expand_home
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.settings import DEFAULT_USAGE_LOG, settings_of
from skillhub_mcp.usage import Usage, read_usage

_SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("log", nargs="?", metavar="LOG", help="usage log (default: this machine's)")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Say which skills were loaded and which never were. Calls are counted on this machine alone, without the texts of
    searches; SKILLHUB_USAGE=queries records those too, and off nothing.
    """
    settings = settings_of(options).observability
    path = args.log or settings.usage_log or expand_home(DEFAULT_USAGE_LOG)
    usage = read_usage(path) if args.log or os.path.exists(path) else Usage()
    note_unreadable(usage, path)
    with open_hub(options) as hub:
        served = served_handles(hub)
    never = [handle for handle in served if handle not in usage.loads]
    used = sorted(usage.loads.items(), key=lambda item: (-item[1], item[0]))
    missed = sorted(usage.missed.items(), key=lambda item: (-item[1], item[0]))
    if args.json:
        return print_json(
            {
                "since": usage.since or None,
                "searches": usage.searches,
                "used": dict(used),
                "read": usage.reads,
                "never_used": never,
                "searched_without_success": dict(missed),
                "unreadable_lines": usage.unreadable,
            }
        )
    since = f"Since {usage.since}: " if usage.since else ""
    print_text(
        f"{since}{plural(usage.searches, 'search', 'searches')}, "
        f"{plural(sum(usage.loads.values()), 'load')}, {plural(sum(usage.reads.values()), 'file')} read"
    )
    for title, lines in (
        ("Used", [f"{count:>5,}  {name}" for name, count in used]),
        (f"Never used, of {len(served):,} served", [f"       {name}" for name in never]),
        ("Searched without success", [f"{count:>5,}  {query}" for query, count in missed]),
    ):
        for line in ("", f"{title}:", *first_lines(lines, _SHOWN)) if lines else ():
            print_line(line)
    if settings.usage == "off" and not args.log:
        print_note("SKILLHUB_USAGE=off: nothing is counted.")
    elif usage.searches and not usage.queries:
        print_note("SKILLHUB_USAGE=queries also records what is searched for, and shows searches without success here.")
    return EXIT_OK


def served_handles(hub: SkillHub) -> list[str]:
    """Return the handles of the skills that are served and not shadowed."""
    return [one.handle for one in hub.listed() if one.served and one.shadowed_by is None]


def note_unreadable(usage: Usage, path: str) -> None:
    """Print on stderr the number of invalid lines in the log at `path`, and the first of them, if any."""
    if usage.unreadable:
        print_note(f"{path}:{usage.unreadable[0]} is invalid; skipped lines: {len(usage.unreadable):,}")
