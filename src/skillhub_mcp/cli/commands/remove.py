"""`skillhub remove`: skills into the trash of their root, and the last removal back."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options, decode_argument
from skillhub_mcp.cli.library_place import LibraryPlace, add_place_options, place_of
from skillhub_mcp.cli.output import EXIT_OK, from_home, print_json, print_note, print_text
from skillhub_mcp.errors import InvalidArgument, SkillNotFound
from skillhub_mcp.harmless import in_line

if TYPE_CHECKING:
    from skillhub_mcp.cli.refreshed_index import RefreshedIndex
    from skillhub_mcp.library.removal import MovedSkill


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "remove",
        group=Group.CONTROL,
        help="remove installed skills; --undo brings the last back",
        description="Move skills that a lock names out of their directory into its trash, all or none, and take them "
        "out of the lock. Running servers follow at once. --undo brings back what was removed last.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="name of a skill's directory, or its path")
    parser.add_argument("--undo", action="store_true", help="bring back what was removed last")
    parser.add_argument("--force", action="store_true", help="even what no lock names")
    parser.add_argument("--dry-run", action="store_true", help="print what would be done, and do nothing")
    add_place_options(parser)
    add_json_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Remove the skills, or bring them back, and refresh the index.

    Raises InvalidArgument, InvalidSetting and what `library.removal` raises.
    """
    from skillhub_mcp.cli.refreshed_index import RefreshedIndex, refresh_index
    from skillhub_mcp.library.removal import bring_back, remove

    place = place_of(args, options)
    typed = [decode_argument(name) for name in args.names]
    if args.undo:
        if typed or args.force:
            given = "NAME" if typed else "--force"
            hint = "skillhub remove --undo brings back all of the last removal"
            raise InvalidArgument(given, "cannot be combined with --undo", hint=hint)
        moved = bring_back(place.root, place.lock_path, dry_run=args.dry_run)
    else:
        if not typed:
            raise InvalidArgument("NAME", "is required", hint="skillhub remove --help")
        names = [_name(name, place) for name in typed]
        try:
            moved = remove(place.root, place.lock_path, names, force=args.force, dry_run=args.dry_run)
        except SkillNotFound as error:
            raise _found_elsewhere(error, place, options) from error
    names = [one.name for one in moved]
    index = RefreshedIndex() if args.dry_run else refresh_index(options, names)
    if args.json:
        print_json(_json(moved, place, index, undo=args.undo, dry_run=args.dry_run))
    else:
        _tell(moved, place, index, undo=args.undo, dry_run=args.dry_run)
    return EXIT_OK


def _name(typed: str, place: LibraryPlace) -> str:
    """Return the name of the directory that was typed as a path, if it lies in the root."""
    path = os.path.abspath(os.path.expanduser(typed))
    inside = os.path.realpath(os.path.dirname(path)) == os.path.realpath(place.root)
    return os.path.basename(path) if inside and (os.sep in typed or "/" in typed) else typed


def _found_elsewhere(error: SkillNotFound, place: LibraryPlace, options: Mapping[str, str]) -> SkillNotFound:
    """Return the error with the option that removes the skill from the root where it is, if some root has it."""
    from skillhub_mcp.chosen_roots import project_of, roots_of
    from skillhub_mcp.library.changes.own_places import is_plain_name
    from skillhub_mcp.settings import read_settings

    typed = os.path.expanduser(error.name)
    settings, _ = read_settings(os.environ, options)
    roots = roots_of(settings)
    if any(os.path.realpath(typed) == root.real for root in roots) and os.path.isdir(typed):
        hint = f"`skillhub roots remove {shlex.quote(error.name)}` searches this directory no longer"
        return SkillNotFound(error.name, hint=hint, reason="it is a directory of skills")
    places = {
        os.path.realpath(os.path.join(project_of(settings).root, ".agents", "skills")): "--project",
        os.path.realpath(os.path.expanduser(os.path.join("~", ".agents", "skills"))): "--user",
    }
    for root in roots:
        if is_plain_name(error.name) and os.path.isdir(os.path.join(root.path, error.name)):
            option = places.get(root.real, f"--skills-dir {shlex.quote(root.path)}")
            hint = f"{root.path} has one: skillhub remove {shlex.quote(error.name)} {option}"
            return SkillNotFound(error.name, hint=hint, reason=f"{place.root} has no directory of that name")
    return error


def _json(
    moved: Sequence[MovedSkill], place: LibraryPlace, index: RefreshedIndex, *, undo: bool, dry_run: bool
) -> dict[str, object]:
    skills = [
        {
            "name": one.name,
            "directory": one.directory,
            "locked": one.locked,
            "linked_to": one.linked_to or None,
            "answers": index.answering.get(one.name, (None,))[0],
        }
        for one in moved
    ]
    return {
        "root": place.root,
        "lock": place.lock_path,
        "dry_run": dry_run,
        "restored" if undo else "removed": skills,
        "index_problem": index.problem or None,
    }


def _tell(
    moved: Sequence[MovedSkill], place: LibraryPlace, index: RefreshedIndex, *, undo: bool, dry_run: bool
) -> None:
    root = in_line(from_home(place.root))
    verb = "would be" if dry_run else "is"
    for one in moved:
        name = in_line(one.name)
        if undo:
            print_text(f"{name} {verb} back in {root}")
            continue
        print_text(f"{name} {verb} removed from {root if one.is_there else in_line(from_home(place.lock_path))}")
        if one.linked_to:
            print_note(f"{name} is a link: {in_line(one.linked_to)} stays as it is")
        answering = index.answering.get(one.name)
        if answering is not None:
            print_note(f"{name} now loads {in_line(from_home(answering[0]))} ({answering[1]})")
    if index.problem:
        print_note(f"warning: the index is not refreshed: {in_line(index.problem)}")
    if not (undo or dry_run) and any(one.is_there for one in moved):
        what = "it" if len(moved) == 1 else "them"
        print_note(f"\n`{' '.join(filter(None, ['skillhub remove --undo', place.option]))}` brings {what} back")
