"""`skillhub lock`: lock the skills that are there."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options
from skillhub_mcp.cli.ending import ending_in_order
from skillhub_mcp.cli.library_place import LibraryPlace, add_place_options, place_of
from skillhub_mcp.cli.named_directories import named_directories
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, from_home, print_json, print_note, print_text
from skillhub_mcp.cli.replica_note import note_publication_beside
from skillhub_mcp.redaction import redacted
from skillhub_mcp.sanitize import in_line

if TYPE_CHECKING:
    from skillhub_mcp.library.locking_present import PresentSkill


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "lock",
        group=Group.CONTROL,
        help="lock the skills that are there",
        description="Write what the files of the skills are now into the lock that `npx skills` has too. A skill that "
        "was edited since it was locked is locked again only if it is named.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these skills, by name, directory or path")
    parser.add_argument("--dry-run", action="store_true", help="print what would be done, and do nothing")
    add_place_options(parser)
    add_json_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


@ending_in_order()
def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Lock the skills. Raises what `library.locking_present` raises."""
    from skillhub_mcp.library.locking_present import Locking, lock_present

    place = place_of(args, options)
    note_publication_beside(place, options)
    names = named_directories(args.names, place, options, command="lock")
    found = lock_present(place.root, place.lock_path, names, dry_run=args.dry_run)
    if args.json:
        print_json(
            {
                "root": place.root,
                "lock": place.lock_path,
                "dry_run": args.dry_run,
                "skills": [_json(one) for one in found],
            }
        )
    else:
        _tell(found, place, dry_run=args.dry_run)
    wrong = any(one.done is Locking.EDITED for one in found)
    return EXIT_FAILED if wrong else EXIT_OK


def _json(one: PresentSkill) -> dict[str, object]:
    ours = None if one.locked is None else one.locked.ours
    return {
        "name": one.name,
        "done": one.done.value,
        "source": None if one.locked is None else redacted(one.locked.source),
        "digest": None if ours is None else ours.digest,
        "files": list(one.files),
        "problem": one.problem or None,
    }


def _tell(found: tuple[PresentSkill, ...], place: LibraryPlace, *, dry_run: bool) -> None:
    from skillhub_mcp.library.locking_present import Locking

    verb = "would be" if dry_run else "is"
    for one in found:
        name = in_line(one.name)
        if one.done in (Locking.LOCKED, Locking.LOCKED_ANEW):
            print_text(f"{name} {verb} {one.done.value}")
        elif one.problem:
            print_text(f"{name} is left as it is: {in_line(one.problem)}")
        elif one.done is Locking.EDITED:
            named = f" ({in_line(one.files[0])})" if one.files else ""
            again = in_line(place.command("lock", names=[one.name]))
            print_text(f"{name} was edited since it was locked{named}: `{again}` locks it again")
    if not any(one.done in (Locking.LOCKED, Locking.LOCKED_ANEW) for one in found):
        print_note(f"{in_line(from_home(place.lock_path))} stays as it is")
