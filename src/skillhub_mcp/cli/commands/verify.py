"""`skillhub verify`: compare installed skills with their lock file."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from skillhub_mcp.cli.console import print_note, print_text, shown_path
from skillhub_mcp.cli.library_place import (
    LibraryPlace,
    add_place_options,
    named_directories,
    note_publication_beside,
    place_of,
)
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, plural, print_json
from skillhub_mcp.sanitize import in_line

if TYPE_CHECKING:
    from skillhub_mcp.library.verifying import VerifiedLibrary, VerifiedSkill
    from skillhub_mcp.locks.lock_file import LockedSkill


DESCRIPTION = (
    "Compare every file of the locked skills with the lock file, and list the differences. The exit code is 1 if there "
    "are any."
)


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these skills, by name, directory or path")
    add_place_options(parser)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Compare the files with the lock. Raises LockUnreadable and SkillNotFound."""
    from skillhub_mcp.library.verifying import verify

    place = place_of(args, options)
    note_publication_beside(place, options)
    names = named_directories(args.names, place, options, command="verify")
    found = verify(place.root, place.lock_path, names, lock_command=place.command("lock"))
    if args.json:
        skills = [_json(one) for one in found.skills]
        print_json(place.json(ok=found.ok, skills=skills, unlocked=list(found.unlocked)))
    else:
        _tell(found, place)
    return EXIT_OK if found.ok else EXIT_FAILED


def _json(one: VerifiedSkill) -> dict[str, object]:
    differs = one.differs
    return {
        "name": one.locked.name,
        "ok": one.ok,
        "changed": list(differs.changed),
        "added": list(differs.added),
        "missing": list(differs.missing),
        "executable_bits": list(differs.modes),
        "unknown_files": differs.unknown,
        "irregular": {
            path: {"locked": each.locked or None, "now": each.now or None} for path, each in differs.irregular.items()
        },
        "line_ends": differs.line_ends,
        "computed_hash_fits": not one.npx_differs,
        "problem": one.problem or None,
        "in_trash": one.in_trash,
        "locked_by": "npx skills" if one.by_npx else "skillhub",
    }


def _tell(found: VerifiedLibrary, place: LibraryPlace) -> None:
    for one in found.skills:
        if one.ok:
            continue
        name, differs = in_line(one.locked.name), one.differs
        print_text(f"{name}: {in_line(one.problem)}" if one.problem else f"{name} is not as it was locked")
        for what, paths in (
            ("changed", differs.changed),
            ("added", differs.added),
            ("missing", differs.missing),
            ("executable bit turned", differs.modes),
        ):
            for path in paths:
                print_text(f"  {what}: {in_line(differs.shown(path))}")
        if one.in_trash and not one.is_missing:
            print_text("  what was locked is in the trash")
    wrong = sum(not one.ok for one in found.skills)
    lock = in_line(shown_path(place.lock_path))
    if not wrong:
        print_text(f"{plural(len(found.skills), 'skill')} as {lock} says")
    _tell_small_differences(found, place)
    if found.unlocked:
        print_note(f"{plural(len(found.unlocked), 'skill')} that no lock names: `{place.command('lock')}` locks them")
    if fix := _fix(found, place):
        print_note(f"\n{fix}")


def _tell_small_differences(found: VerifiedLibrary, place: LibraryPlace) -> None:
    if ends := [one.locked.name for one in found.skills if one.differs.line_ends]:
        print_note(f"Only line ends differ from what was locked: {in_line(', '.join(ends))}")
        if hint := place.attributes_hint():
            print_note(hint)
    if differ := [one.locked.name for one in found.skills if one.npx_differs]:
        lock_again = in_line(place.command("lock", names=differ))
        print_note(f"The computedHash of npx skills does not fit the files: {in_line(', '.join(differ))}")
        print_note(f"`{lock_again}` writes it again")


def _fix(found: VerifiedLibrary, place: LibraryPlace) -> str:
    """Return the commands that restore or lock what differs; empty if there are none."""
    wrong = [one for one in found.skills if one.differs or one.is_missing]
    edited = [one.locked.name for one in wrong if one.differs]
    fixes = []
    if trashed := [one.locked.name for one in wrong if one.is_missing and one.in_trash]:
        fixes.append(f"`{in_line(place.command('remove', '--undo', names=trashed))}` brings back what is in the trash")
    if any(_comes_from_elsewhere(one.locked, place) for one in wrong):
        back = place.command("add", "--frozen", *(["--replace"] if edited else []))
        fixes.append(f"`{in_line(back)}` brings back what the lock says")
    if edited:
        fixes.append(f"`{in_line(place.command('lock', names=edited))}` locks what is there")
    lost = [
        in_line(one.locked.name) for one in wrong if one.is_missing and one.locked.ours and one.locked.ours.has_edits
    ]
    if lost:
        fixes.append(f"the edits of {', '.join(lost)} that were locked are only where they were made")
    return ", and ".join(fixes)


def _comes_from_elsewhere(locked: LockedSkill, place: LibraryPlace) -> bool:
    """Whether the source of a skill can restore what was locked."""
    from skillhub_mcp.library.sources.upstream import is_its_own_source

    if locked.ours is None or locked.ours.has_edits:
        return False
    return not is_its_own_source(locked, place.root, os.path.dirname(place.lock_path))
