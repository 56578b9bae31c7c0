"""`skillhub outdated`: installed skills that their sources have otherwise by now."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options
from skillhub_mcp.cli.ending import ending_in_order
from skillhub_mcp.cli.library_place import add_place_options, place_of
from skillhub_mcp.cli.named_directories import named_directories
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, print_json, print_note
from skillhub_mcp.cli.replica_note import note_publication_beside


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "outdated",
        group=Group.CONTROL,
        help="list installed skills that their sources have newer",
        description="Ask the source of each installed skill whether it has another version, and change no skill. "
        "The exit code is 1 where a source could not be asked.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these skills, by name, directory or path")
    parser.add_argument("--all", action="store_true", help="list the current ones too")
    parser.add_argument("--insecure", action="store_true", help="allow http: and git: to other machines")
    add_place_options(parser)
    add_json_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


@ending_in_order()
def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """List how the skills of a lock stand. Raises SkillNotFound, LockUnreadable and InvalidSetting."""
    from skillhub_mcp.cli.comparing import compared, comparison_json, missing_note, tell_compared
    from skillhub_mcp.cli.source_options import open_options
    from skillhub_mcp.library.sources.upstream import SourceStanding
    from skillhub_mcp.settings import settings_of

    place = place_of(args, options)
    note_publication_beside(place, options)
    settings = settings_of(options)
    opening = open_options(settings, insecure=args.insecure, place=place)
    with compared(place, named_directories(args.names, place, options, command="outdated"), opening) as found:
        pass
    if args.json:
        print_json({"root": place.root, "lock": place.lock_path, "skills": [comparison_json(one) for one in found]})
    else:
        told = [one for one in found if args.all or args.names or one.standing is not SourceStanding.CURRENT]
        tell_compared(told, found, place)
        if any(one.standing is SourceStanding.OUTDATED for one in found):
            print_note(f"\n`{place.command('update')}` shows the changes, and asks")
        elif not found:
            print_note(f"No skill is locked in {place.lock_path}")
        elif not told and not missing_note(found, place):
            print_note("Every skill of the lock is current")
    return EXIT_FAILED if any(one.standing is SourceStanding.UNKNOWN for one in found) else EXIT_OK
