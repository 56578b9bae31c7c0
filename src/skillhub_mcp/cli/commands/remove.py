"""`skillhub remove`: skills into the trash of their root, and the last removal back."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict

from skillhub_mcp.cli.arguments import decode_argument
from skillhub_mcp.cli.console import print_line, print_note
from skillhub_mcp.cli.library_place import RefreshedIndex, add_place_options, named_directories, place_of, refresh_index
from skillhub_mcp.cli.output import EXIT_OK, print_json
from skillhub_mcp.environment import shown_path
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.library.removal import bring_back, remove


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="name of a skill or of its directory, or its path")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--undo", action="store_true", help="bring back what was removed last, or each NAME")
    how.add_argument("--force", action="store_true", help="also remove skills that are not in a lock file")
    add_place_options(parser)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Move installed skills into the trash of their directory, all or none, and drop them from the lock file. --undo
    brings back what was removed last, or each NAME as it was when it was removed last.
    """
    place = place_of(args, options)
    if args.undo:
        names = [decode_argument(name) for name in args.names]
        moved = bring_back(place.root, place.lock_path, names, dry_run=args.dry_run)
    else:
        if not args.names:
            raise InvalidArgument("NAME", "is required", hint="skillhub remove --help")
        names = named_directories(args.names, place, options, command="remove")
        moved = remove(place.root, place.lock_path, names, force=args.force, dry_run=args.dry_run)
    index = RefreshedIndex() if args.dry_run else refresh_index(options, [one.name for one in moved])
    if args.json:
        skills = [asdict(one) | {"answers": index.answering.get(one.name, (None,))[0]} for one in moved]
        result = {"restored" if args.undo else "removed": skills, "index_problem": index.problem or None}
        return print_json(place.json(dry_run=args.dry_run) | result)
    verb = "would be" if args.dry_run else "is"
    for one in moved:
        if args.undo:
            print_line(f"{one.name} {verb} back in {shown_path(place.root)}")
            continue
        print_line(f"{one.name} {verb} removed from {shown_path(place.root if one.is_there else place.lock_path)}")
        if one.linked_to:
            print_note(f"{one.name} is a link: {one.linked_to} stays as it is")
        if one.name in index.answering:
            directory, source = index.answering[one.name]
            print_note(f"{one.name} now loads {shown_path(directory)} ({source})")
    index.note_problem()
    if not (args.undo or args.dry_run) and any(one.is_there for one in moved):
        print_note("", f"to undo: `{place.command('remove', '--undo')}`")
    return EXIT_OK
