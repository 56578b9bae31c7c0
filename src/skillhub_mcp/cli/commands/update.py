"""`skillhub update`: installed skills as their sources have them now, reviewed and agreed to."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from skillhub_mcp._util.tempdir import scratch_directory
from skillhub_mcp.cli.console import print_note, print_text, shown_path
from skillhub_mcp.cli.installing import add_terms, finish, terms_of
from skillhub_mcp.cli.library_place import (
    LibraryPlace,
    add_place_options,
    named_directories,
    note_publication_beside,
    open_options,
    place_of,
)
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, error_json, print_json
from skillhub_mcp.errors import SkillNotFound
from skillhub_mcp.library.install import prepare
from skillhub_mcp.library.places import is_plain_name
from skillhub_mcp.library.sources.locked_source import place_of as source_place_of
from skillhub_mcp.library.sources.upstream import Compared, SourceStanding, Upstreams
from skillhub_mcp.locks.lock_file import Lock
from skillhub_mcp.locks.plain_files import read_lock
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import settings_of
from skillhub_mcp.skills.names import near_names

if TYPE_CHECKING:
    from skillhub_mcp.locks.lock_file import LockedSkill

DESCRIPTION = (
    "Show what the sources of installed skills have changed, and install it when you agree. A skill that you edited "
    "is updated only with --theirs or --ours."
)
_SHOWN_DIGITS = 8


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these skills, by name, directory or path")
    parser.add_argument("--check", action="store_true", help="list what is outdated, and change nothing")
    parser.add_argument("--unpin", action="store_true", help="leave tags and commits, and follow the source")
    add_terms(parser)
    add_place_options(parser)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Compare, show, ask and update; with --check only compare. Raises what `library` raises."""
    place = place_of(args, options)
    note_publication_beside(place, options)
    settings = settings_of(options)
    terms = terms_of(args, settings)
    opening = open_options(settings, insecure=args.insecure, place=place)
    names = named_directories(args.names, place, options, command="update")
    skills = _locked_skills(place, names)
    with closing(Upstreams(opening, place.root, unpin=args.unpin)) as upstreams:
        seen = list(upstreams.compare(skills))
        failed = any(one.error is not None for one in seen)
        reported = [one for one in seen if one.standing is not SourceStanding.CURRENT or args.names]
        if args.check:
            return _report_check(args, seen, reported, place)
        incoming = [one.incoming for one in seen if one.incoming is not None]
        if not args.json:
            _tell_compared(reported, seen, place)
        with scratch_directory("look") as scratch:
            prepared = prepare(place.root, place.lock_path, incoming, terms, scratch)
            code = finish(prepared, place, args, options, {"compared": [_comparison_json(one) for one in seen]})
    if not incoming and not args.json and not failed:
        print_note("There is nothing to update" if seen else f"No skill is locked in {place.lock_path}")
    return EXIT_FAILED if failed and code == EXIT_OK else code


def _report_check(
    args: argparse.Namespace, seen: Sequence[Compared], reported: Sequence[Compared], place: LibraryPlace
) -> int:
    if args.json:
        print_json(place.json(skills=[_comparison_json(one) for one in seen]))
    else:
        _tell_compared(reported, seen, place)
        if any(one.standing is SourceStanding.OUTDATED for one in seen):
            print_note(f"\n`{place.command('update')}` shows the changes, and asks")
        elif not seen:
            print_note(f"No skill is locked in {place.lock_path}")
        elif not reported and not _missing_note(seen, place):
            print_note("Every skill of the lock is current")
    return EXIT_FAILED if any(one.standing is SourceStanding.UNKNOWN for one in seen) else EXIT_OK


def _tell_compared(reported: Iterable[Compared], found: Iterable[Compared], place: LibraryPlace) -> None:
    """Print a line for each skill in `reported`, then notes, also about missing skills."""
    reported = list(reported)
    for one in reported:
        name, source = in_line(one.locked.name), in_line(shown_path(one.source))
        print_text(f"{name}  {one.standing.value}{_between(one)}  {source}")
    for note in filter(None, [*(_comparison_note(one, place) for one in reported), _missing_note(found, place)]):
        print_note(note)


def _locked_skills(place: LibraryPlace, names: Sequence[str]) -> tuple[LockedSkill, ...]:
    """Return the skills of the lock, or those of them that are named. Raises SkillNotFound and LockUnreadable."""
    lock = read_lock(place.lock_path) or Lock(place.lock_path)
    known = {one.name: one for one in lock.skills}
    for name in names:
        if name not in known:
            near = near_names(name, sorted(known))
            hint = "did you mean " + " or ".join(map(repr, near)) + "?" if near else "`skillhub add` installs skills"
            raise SkillNotFound(name, near=near, hint=hint, reason=f"{place.lock_path} does not name it")
    return tuple(known[name] for name in dict.fromkeys(names)) if names else lock.skills


def _comparison_note(one: Compared, place: LibraryPlace) -> str:
    """Return why a comparison failed, or what the user can do; empty for nothing."""
    name = in_line(one.locked.name)
    if one.error is not None:
        hint = f" ({one.error.hint})" if one.error.hint else ""
        return f"{name}: {in_line(one.error.message + hint)}"
    if one.went_back and one.locked.ours is not None:
        now, before = one.commit[:_SHOWN_DIGITS], one.locked.ours.commit[:_SHOWN_DIGITS]
        return f"{name}: its source went back to an older commit, {now}: you have {before}"
    if one.incoming is not None and one.incoming.moved_from is not None:
        return f"{name}: it has moved to {in_line(one.incoming.path or '.')} in its source"
    if one.standing is SourceStanding.PINNED:
        unpin = in_line(place.command("update", "--unpin", names=[one.locked.name]))
        return f"{name}: at the tag or commit asked for: `{unpin}` follows its source"
    if one.standing is SourceStanding.GONE:
        remove = in_line(place.command("remove", names=[one.locked.name]))
        return f"{name}: its source has it no longer; it stays: `{remove}` removes it"
    return ""


def _missing_note(found: Iterable[Compared], place: LibraryPlace) -> str:
    """Return which locked skills are missing from the root, and how to restore them; empty for none."""
    missing = [
        in_line(one.locked.name)
        for one in found
        if is_plain_name(one.locked.name) and not os.path.lexists(os.path.join(place.root, one.locked.name))
    ]
    if not missing:
        return ""
    are = "is" if len(missing) == 1 else "are"
    root, fix = in_line(shown_path(place.root)), in_line(place.command("add", "--frozen"))
    return f"{', '.join(missing)} {are} not in {root}: `{fix}` brings back what the lock says"


def _comparison_json(one: Compared) -> dict[str, Any]:
    ours, error = one.locked.ours, one.error
    return {
        "name": one.locked.name,
        "standing": one.standing.value,
        "source": one.source,
        "path": source_place_of(one.locked),
        "path_now": one.incoming.path if one.incoming is not None else None,
        "commit": (ours.commit if ours is not None else "") or None,
        "commit_now": one.commit or None,
        "went_back": one.went_back,
        "digest": ours.digest if ours is not None else None,
        "error": None if error is None else error_json(error),
    }


def _between(one: Compared) -> str:
    before = one.locked.ours.commit if one.locked.ours is not None else ""
    if one.standing is SourceStanding.OUTDATED and before and one.commit:
        return f"  {before[:_SHOWN_DIGITS]} → {one.commit[:_SHOWN_DIGITS]}"
    return ""
