"""`skillhub lock` and `verify`: record the skills that are there, and compare them with the record."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict

from skillhub_mcp._util.wording import plural
from skillhub_mcp.cli.arguments import Parser, decode_argument
from skillhub_mcp.cli.commands.add import add_from
from skillhub_mcp.cli.console import print_line, print_note
from skillhub_mcp.cli.installing import add_terms
from skillhub_mcp.cli.library_place import LibraryPlace, add_place_options, named_directories, place_of
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, print_json
from skillhub_mcp.environment import shown_path
from skillhub_mcp.library.sources.upstream import is_its_own_source
from skillhub_mcp.library.verifying import Locking, VerifiedLibrary, VerifiedSkill, lock_present, present, verify
from skillhub_mcp.redaction import redacted

_DESCRIPTIONS = {
    "lock": "Record the current files of the skills in skills-lock.json, shared with `npx skills`. A skill that was "
    "edited since it was locked is recorded again only if it is named.",
    "verify": "Compare every file of the locked skills with the lock file, and name those that differ. The exit code "
    "is 1 if there are any.",
}


def add_arguments(parser: Parser, command: str) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTIONS[command]
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these skills, by name, directory or path")
    if command == "lock":
        parser.add_argument("--adopt", metavar="SOURCE", help="record this source, if its files are the same")
        add_terms(parser)
    add_place_options(parser)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Lock or verify the skills. Raises what `library.verifying` and `add_from` raise."""
    place = place_of(args, options)
    names = named_directories(args.names, place, options, command=args.command)
    if args.command == "verify":
        return _verify(args, place, names)
    if args.adopt:
        # Adding a skill that is there with the same files records its source.
        return add_from(decode_argument(args.adopt), args, options, place, only=names or present(place.root))
    return _lock(args, place, names)


def _lock(args: argparse.Namespace, place: LibraryPlace, names: list[str]) -> int:
    found = lock_present(place.root, place.lock_path, names, dry_run=args.dry_run)
    edited = [one.name for one in found if one.done is Locking.EDITED]
    if args.json:
        skills = [
            {
                "name": one.name,
                "done": one.done.value,
                "source": None if one.locked is None else redacted(one.locked.source),
                "digest": None if one.locked is None or one.locked.ours is None else one.locked.ours.digest,
                "files": list(one.files),
                "problem": one.problem or None,
            }
            for one in found
        ]
        print_json(place.json(dry_run=args.dry_run, skills=skills))
        return EXIT_FAILED if edited else EXIT_OK
    for one in found:
        if one.done in (Locking.LOCKED, Locking.LOCKED_AGAIN):
            print_line(f"{one.name} {'would be' if args.dry_run else 'is'} {one.done.value}")
        elif one.problem:
            print_line(f"{one.name} is left as it is: {one.problem}")
        elif one.done is Locking.EDITED:
            named = f" ({one.files[0]})" if one.files else ""
            again = place.command("lock", names=[one.name])
            print_line(f"{one.name} was edited since it was locked{named}: `{again}` locks it again")
    if not any(one.done in (Locking.LOCKED, Locking.LOCKED_AGAIN) for one in found):
        print_note(f"{shown_path(place.lock_path)} is unchanged")
    return EXIT_FAILED if edited else EXIT_OK


def _verify(args: argparse.Namespace, place: LibraryPlace, names: list[str]) -> int:
    found = verify(place.root, place.lock_path, names, lock_command=place.command("lock"))
    if args.json:
        skills = [_verified_json(one) for one in found.skills]
        print_json(place.json(ok=found.ok, skills=skills, unlocked=list(found.unlocked)))
        return EXIT_OK if found.ok else EXIT_FAILED
    for one in (one for one in found.skills if not one.ok):
        print_line(f"{one.locked.name}: {one.problem or 'not as it was locked'}")
        for path in one.differs.modes:
            print_line(f"  executable bit changed: {path}")
    if found.ok:
        agree = "matches" if len(found.skills) == 1 else "match"
        print_line(f"{plural(len(found.skills), 'skill')} {agree} {shown_path(place.lock_path)}")
    place.note_line_ends([one.locked.name for one in found.skills if one.differs.line_ends])
    if differ := [one.locked.name for one in found.skills if one.npx_differs]:
        print_note(f"npx skills has another hash: `{place.command('lock', names=differ)}` writes it again")
    if found.unlocked:
        print_note(f"{plural(len(found.unlocked), 'skill')} that no lock names: `{place.command('lock')}` locks them")
    if fixes := list(_fixes(found, place)):
        print_note("", *fixes)
    return EXIT_OK if found.ok else EXIT_FAILED


def _verified_json(one: VerifiedSkill) -> dict[str, object]:
    more = {
        "computed_hash_fits": not one.npx_differs,
        "locked_by": "npx skills" if one.locked.ours is None else "skillhub",
    }
    known = {"name": one.locked.name, "ok": one.ok, "problem": one.problem or None, "in_trash": one.in_trash}
    return known | asdict(one.differs) | more


def _fixes(found: VerifiedLibrary, place: LibraryPlace) -> Iterator[str]:
    """Yield the commands that restore or lock what differs."""
    wrong = [one for one in found.skills if one.differs or one.is_missing]
    edited = [one.locked.name for one in wrong if one.differs]
    if trashed := [one.locked.name for one in wrong if one.is_missing and one.in_trash]:
        yield f"`{place.command('remove', '--undo', names=trashed)}` brings back what is in the trash"
    base = os.path.dirname(place.lock_path)
    restorable = [
        one.locked
        for one in wrong
        if one.locked.ours is not None
        and not one.locked.ours.has_edits
        and not is_its_own_source(one.locked, place.root, base)
    ]
    if restorable:
        yield f"`{place.command('add', '--frozen', *(['--replace'] if edited else []))}` brings back what the lock says"
    if edited:
        yield f"`{place.command('lock', names=edited)}` locks what is there"
