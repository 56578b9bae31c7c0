"""`skillhub lock`: lock the skills that are there, as they are or as those of a source."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from skillhub_mcp.cli.arguments import decode_argument
from skillhub_mcp.cli.console import print_note, print_text, shown_path
from skillhub_mcp.cli.installing import add_terms
from skillhub_mcp.cli.library_place import (
    LibraryPlace,
    add_place_options,
    named_directories,
    note_publication_beside,
    place_of,
)
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, print_json
from skillhub_mcp.redaction import redacted
from skillhub_mcp.sanitize import in_line

if TYPE_CHECKING:
    from skillhub_mcp.library.locking_present import PresentSkill


DESCRIPTION = (
    "Record the current files of the skills in skills-lock.json, which `npx skills` has too. A skill that was edited "
    "since it was locked is recorded again only if it is named."
)


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these skills, by name, directory or path")
    parser.add_argument("--adopt", metavar="SOURCE", help="record this source, if its files are the same")
    add_terms(parser)
    add_place_options(parser)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Lock the skills. Raises what `library.locking_present` and `add_from` raise."""
    from skillhub_mcp.library.locking_present import Locking, lock_present

    place = place_of(args, options)
    note_publication_beside(place, options)
    names = named_directories(args.names, place, options, command="lock")
    if args.adopt:
        # Adding a skill that is there with the same files records its source.
        from skillhub_mcp.cli.commands.add import add_from
        from skillhub_mcp.library.verifying import present

        return add_from(decode_argument(args.adopt), args, options, only=names or present(place.root))
    found = lock_present(place.root, place.lock_path, names, dry_run=args.dry_run)
    if args.json:
        print_json(place.json(dry_run=args.dry_run, skills=[_json(one) for one in found]))
    else:
        _tell(found, place, dry_run=args.dry_run)
    return EXIT_FAILED if any(one.done is Locking.EDITED for one in found) else EXIT_OK


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
        print_note(f"{in_line(shown_path(place.lock_path))} stays as it is")
