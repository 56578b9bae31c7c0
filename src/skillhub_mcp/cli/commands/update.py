"""`skillhub update`: installed skills as their sources have them now, looked at and agreed to."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from skillhub_mcp._util.tempdir import scratch_directory
from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options
from skillhub_mcp.cli.ending import ending_in_order
from skillhub_mcp.cli.library_place import add_place_options, place_of
from skillhub_mcp.cli.named_directories import named_directories
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, print_note
from skillhub_mcp.cli.replica_note import note_publication_beside


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    from skillhub_mcp.cli.installing import add_terms

    parser = subparsers.add_parser(
        "update",
        group=Group.CONTROL,
        help="update installed skills from their sources",
        description="Show what the sources of installed skills have changed, and install it when you agree. A skill "
        "that you edited is updated only with --theirs or --ours.",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="only these skills, by name, directory or path (default: all)"
    )
    parser.add_argument(
        "--unpin", action="store_true", help="leave tags and commits, and follow what the source shows first"
    )
    add_terms(parser)
    add_place_options(parser)
    add_json_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


@ending_in_order()
def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Compare, show, ask and update. Raises InvalidArgument, InvalidSetting and what `library` raises."""
    from skillhub_mcp.cli.comparing import compared, comparison_json, tell_compared
    from skillhub_mcp.cli.installing import finish, terms_of
    from skillhub_mcp.cli.source_options import open_options
    from skillhub_mcp.library.install import prepare
    from skillhub_mcp.library.sources.upstream import SourceStanding
    from skillhub_mcp.settings import settings_of

    place = place_of(args, options)
    note_publication_beside(place, options)
    settings = settings_of(options)
    terms = terms_of(args, settings)
    opening = open_options(settings, insecure=args.insecure, place=place)
    names = named_directories(args.names, place, options, command="update")
    with compared(place, names, opening, unpin=args.unpin) as seen:
        failed = any(one.error is not None for one in seen)
        incoming = [one.incoming for one in seen if one.incoming is not None]
        if not args.json:
            told = [one for one in seen if one.standing is not SourceStanding.CURRENT or args.names]
            tell_compared(told, seen, place)
        with scratch_directory("look") as scratch:
            prepared = prepare(place.root, place.lock_path, incoming, terms, scratch)
            code = finish(prepared, place, args, options, {"compared": [comparison_json(one) for one in seen]})
    if not incoming and not args.json and not failed:
        print_note("There is nothing to update" if seen else f"No skill is locked in {place.lock_path}")
    return EXIT_FAILED if failed and code == EXIT_OK else code
