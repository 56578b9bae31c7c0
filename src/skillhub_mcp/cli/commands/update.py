"""`skillhub update`: installed skills as their sources have them now, reviewed and agreed to."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from skillhub_mcp._util.tempdir import scratch_directory
from skillhub_mcp.cli.console import print_line, print_note
from skillhub_mcp.cli.installing import add_terms, finish, terms_of
from skillhub_mcp.cli.library_place import LibraryPlace, add_place_options, named_directories, open_options, place_of
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, error_json, print_json
from skillhub_mcp.environment import shown_path
from skillhub_mcp.library.install import prepare
from skillhub_mcp.library.places import is_plain_name
from skillhub_mcp.library.sources.source import place_of as source_place_of
from skillhub_mcp.library.sources.upstream import Compared, SourceStanding, Upstreams
from skillhub_mcp.locks.lock_file import LockedSkill, lock_at
from skillhub_mcp.settings import settings_of
from skillhub_mcp.skills.names import not_found

_SHOWN_DIGITS = 8


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these skills, by name, directory or path")
    parser.add_argument("--check", action="store_true", help="list what is outdated, and change nothing")
    parser.add_argument("--unpin", action="store_true", help="leave tags and commits, and follow the source")
    add_terms(parser)
    add_place_options(parser)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Show what the sources of installed skills have changed, and install it when you agree. A skill that you edited is
    updated only with --theirs or --ours.
    """
    place, settings = place_of(args, options), settings_of(options)
    terms = terms_of(args, settings)
    opening = open_options(settings, insecure=args.insecure, place=place)
    skills = _locked_skills(place, named_directories(args.names, place, options, command="update"))
    with closing(Upstreams(opening, place.root, unpin=args.unpin)) as upstreams:
        seen = list(upstreams.compare(skills))
        compared = [_json(one) for one in seen]
        failed = any(one.standing is SourceStanding.UNKNOWN for one in seen)
        incoming = [one.incoming for one in seen if one.incoming is not None]
        if not args.json:
            _report([one for one in seen if one.standing is not SourceStanding.CURRENT or args.names], seen, place)
            if not seen:
                print_note(f"No skill is locked in {place.lock_path}")
            elif not incoming and not failed and all(_is_there(one, place) for one in seen):
                print_note("There is nothing to update")
            elif args.check and incoming:
                print_note("", f"`{place.command('update')}` shows the changes, and asks")
        if args.check:
            if args.json:
                print_json(place.json(skills=compared))
            return EXIT_FAILED if failed else EXIT_OK
        with scratch_directory("look") as scratch:
            prepared = prepare(place.root, place.lock_path, incoming, terms, scratch)
            code = finish(prepared, place, args, options, {"compared": compared})
    return EXIT_FAILED if failed and code == EXIT_OK else code


def _locked_skills(place: LibraryPlace, names: Sequence[str]) -> tuple[LockedSkill, ...]:
    """Return the skills of the lock, or those of them that are named. Raises SkillNotFound and LockUnreadable."""
    lock = lock_at(place.lock_path)
    known = {one.name: one for one in lock.skills}
    for name in names:
        if name not in known:
            raise not_found(name, known, search_tool="", reason=f"{place.lock_path} does not name it")
    return tuple(known[name] for name in dict.fromkeys(names)) if names else lock.skills


def _report(reported: Sequence[Compared], seen: Iterable[Compared], place: LibraryPlace) -> None:
    """Print a line for each skill in `reported`, then notes, also about missing skills."""
    for one in reported:
        before, now = one.locked.ours.commit if one.locked.ours is not None else "", one.commit
        is_newer = one.standing is SourceStanding.OUTDATED and before and now
        commits = f"  {before[:_SHOWN_DIGITS]} → {now[:_SHOWN_DIGITS]}" if is_newer else ""
        print_line(f"{one.locked.name}  {one.standing.value}{commits}  {shown_path(one.source)}")
    for one in reported:
        for note in _notes(one, place):
            print_note(f"{one.locked.name}: {note}")
    if missing := [one.locked.name for one in seen if not _is_there(one, place)]:
        fix = place.command("add", "--frozen")
        print_note(f"not in {shown_path(place.root)}: {', '.join(missing)}; `{fix}` brings back what the lock says")


def _notes(one: Compared, place: LibraryPlace) -> Iterator[str]:
    """Yield why a comparison failed, or what the user can do."""
    if one.error is not None:
        yield one.error.message + (f" ({one.error.hint})" if one.error.hint else "")
    elif one.went_back and one.locked.ours is not None:
        now, before = one.commit[:_SHOWN_DIGITS], one.locked.ours.commit[:_SHOWN_DIGITS]
        yield f"its source went back to an older commit, {now}: you have {before}"
    elif one.incoming is not None and one.incoming.moved_from is not None:
        yield f"it has moved to {one.incoming.path or '.'} in its source"
    elif one.standing is SourceStanding.PINNED:
        yield f"pinned: `{place.command('update', '--unpin', names=[one.locked.name])}` follows its source"
    elif one.standing is SourceStanding.GONE:
        yield f"gone from its source: `{place.command('remove', names=[one.locked.name])}` removes it here"


def _is_there(one: Compared, place: LibraryPlace) -> bool:
    return not is_plain_name(one.locked.name) or os.path.lexists(os.path.join(place.root, one.locked.name))


def _json(one: Compared) -> dict[str, Any]:
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
