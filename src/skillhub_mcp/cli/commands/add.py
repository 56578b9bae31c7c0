"""`skillhub add`: skills from a source into a root, looked at, agreed to, and locked."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from skillhub_mcp._util.tempdir import scratch_directory
from skillhub_mcp.cli.arguments import decode_argument
from skillhub_mcp.cli.console import one_line, paging, print_note, print_text, shown_path
from skillhub_mcp.cli.installing import add_terms, finish, terms_of
from skillhub_mcp.cli.library_place import (
    LibraryPlace,
    add_place_options,
    note_index_problem,
    note_publication_beside,
    open_options,
    place_of,
    refresh_index,
)
from skillhub_mcp.cli.output import EXIT_OK, plural, print_json
from skillhub_mcp.errors import InvalidArgument, LockUnreadable, SkillNotFound
from skillhub_mcp.sanitize import in_line, shortened

if TYPE_CHECKING:
    from skillhub_mcp.library.candidates import Candidate, Candidates
    from skillhub_mcp.library.install import InstallOptions
    from skillhub_mcp.library.sources.opening import OpenOptions
    from skillhub_mcp.library.sources.source import SkillSource
    from skillhub_mcp.library.tree import Tree
    from skillhub_mcp.settings import Settings

DESCRIPTION = (
    "Fetch skills from a directory, an archive, a git repository or a site, show what is in them and what the audit "
    "finds, and install them when you agree. The source and the files are recorded in skills-lock.json."
)
_LOOKED_LIKE = 8
# What `lock --adopt` has no options for.
_UNNAMED = {"list": False, "skill": (), "name": None, "ref": "", "path": "", "replace": False}
_MOST_TOLD = 20
_TOLD_CHARACTERS = 400


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("source", nargs="?", metavar="SOURCE", help="./dir, file.zip, owner/repo, a URL, or git@host:…")
    parser.add_argument("--list", action="store_true", help="only list the skills of the source")
    parser.add_argument(
        *("--skill",), action="append", default=[], metavar="NAME", help="only this skill (repeatable; '*' for all)"
    )
    parser.add_argument("--name", metavar="NEW", help="install the one skill under this name")
    parser.add_argument("--ref", default="", metavar="REF", help="branch, tag or commit of the repository")
    parser.add_argument("--path", default="", metavar="SUBDIR", help="directory within the source")
    parser.add_argument("--replace", action="store_true", help="replace skills that have these names")
    parser.add_argument(
        "--frozen",
        # Not `frozen`, which is the serving option of that name.
        dest="as_locked",
        action="store_true",
        help="install exactly what the lock file says, or fail",
    )
    add_terms(parser)
    add_place_options(parser)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Show what a source has, and install it. Raises InvalidArgument, InvalidSetting and what `library` raises."""
    from skillhub_mcp.settings import settings_of

    place = place_of(args, options)
    if not args.list:
        note_publication_beside(place, options)
    settings = settings_of(options)
    if args.as_locked:
        if args.source is not None or args.skill or args.name or args.list:
            raise InvalidArgument("--frozen", "takes no source", hint="it installs what the lock names")
        opening = open_options(settings, insecure=args.insecure, place=place)
        return _restore(args, options, place, opening, terms_of(args, settings, replace=args.replace))
    if args.source is None:
        raise InvalidArgument("SOURCE", "is required", hint="skillhub add --help")
    return add_from(decode_argument(args.source), args, options)


def add_from(
    typed: str, args: argparse.Namespace, options: Mapping[str, str], *, only: Collection[str] | None = None
) -> int:
    """Add the skills of a source; with `only`, those whose names are among them. Raises what `run` raises."""
    from skillhub_mcp.library.sources.opening import open_source, settled
    from skillhub_mcp.library.sources.source import parse_source, refuse_directory
    from skillhub_mcp.settings import settings_of

    here, place, settings = os.getcwd(), place_of(args, options), settings_of(options)
    refuse_directory(typed, lambda path: os.path.lexists(os.path.join(here, path)))
    if only is not None:
        args = argparse.Namespace(**_UNNAMED, **vars(args))
    skills = [decode_argument(name) for name in args.skill]
    source = parse_source(
        typed, ref=decode_argument(args.ref), path=decode_argument(args.path), skills=skills, insecure=args.insecure
    )
    opening = open_options(settings, insecure=args.insecure)
    with closing(open_source(source, opening)) as tree:
        return _add(args, options, place, settled(source, tree, opening), tree, settings, only)


def _add(
    args: argparse.Namespace,
    options: Mapping[str, str],
    place: LibraryPlace,
    source: SkillSource,
    tree: Tree,
    settings: Settings,
    only: Collection[str] | None,
) -> int:
    from skillhub_mcp.library.candidates import candidates
    from skillhub_mcp.library.install import install_name, prepare
    from skillhub_mcp.library.sources.upstream import incoming_of

    found = candidates(tree, source.path, name=_name_of(source))
    if args.list:
        if source.skills or not found.skills:
            found = replace(found, skills=_chosen(found, source))
        with paging():
            _list(found, source, tree, as_json=args.json)
        if not args.json:
            _tell_left_out([f"{left.what} {left.reason}" for left in found.left_out])
        return EXIT_OK
    picked = _picked(found, source, tree, as_json=args.json)
    if only is not None:
        picked = [one for one in picked if install_name(one) in only]
        if not picked:
            raise SkillNotFound(str(source), reason=f"{source} has no skill that is in {place.root}")
    if args.name is not None and len(picked) != 1:
        raise InvalidArgument("--name", f"names one skill, and there are {len(picked)}", hint="choose it with --skill")
    new_name = _new_name(args)
    incoming = [
        replace(incoming_of(one, tree, source, new_name or install_name(one)), rename=new_name is not None)
        for one in picked
    ]
    if not args.json:
        _tell_left_out([f"{left.what} {left.reason}" for left in found.left_out])
    terms = terms_of(args, settings, replace=args.replace)
    with scratch_directory("look") as scratch:
        prepared = prepare(place.root, place.lock_path, incoming, terms, scratch)
        if not args.json:
            print_text(_from(source, tree))
        left_out = [{"what": left.what, "reason": left.reason} for left in found.left_out]
        left_out += [{"what": one.path or ".", "reason": one.problem} for one in found.skills if one.problem]
        more = {"source": str(source), "commit": tree.commit or None, "left_out": left_out}
        return finish(prepared, place, args, options, more)


def _new_name(args: argparse.Namespace) -> str | None:
    """Return the name that --name gives. Raises InvalidArgument for one that no skill may have."""
    from skillhub_mcp.library.entry_rules import entry_problem
    from skillhub_mcp.skills.names import is_specified_name, safe_alias

    if args.name is None:
        return None
    name = decode_argument(args.name)
    if not is_specified_name(name) or entry_problem(name) is not None:
        form = "lowercase letters, digits and single hyphens"
        alias = safe_alias(name)
        if alias and entry_problem(alias) is not None:
            form, alias = "it is a device on Windows", f"{alias}-skill"
        raise InvalidArgument("--name", f"{name!r} is no name of a skill: {form}", hint=f"--name {alias or 'my-skill'}")
    return name


def _picked(found: Candidates, source: SkillSource, tree: Tree, *, as_json: bool) -> Sequence[Candidate]:
    """Return the requested skills that can be installed. Raises for a named one that cannot, or if none can."""
    from skillhub_mcp.library.install import refuse_unusable
    from skillhub_mcp.library.sources.source import ALL_SKILLS

    picked = _chosen(found, source)
    usable = [one for one in picked if not one.problem]
    named = bool(source.skills) and ALL_SKILLS not in source.skills
    for one in picked:
        if one.problem and (named or not usable):
            refuse_unusable(one, tree)
    if not as_json:
        _tell_left_out([f"{one.path or '.'}: {one.problem}" for one in picked if one.problem])
    return usable


def _chosen(found: Candidates, source: SkillSource) -> tuple[Candidate, ...]:
    """Return the skills that are named, or all. Raises SkillNotFound and AmbiguousSkill."""
    from skillhub_mcp.library.candidates import chosen
    from skillhub_mcp.library.sources.source import as_ref

    try:
        return chosen(found, source.skills)
    except SkillNotFound as error:
        meant = as_ref(source)
        if meant is None:
            raise
        hint = f"for the ref of that name write {meant}; {error.hint}"
        raise SkillNotFound(error.name, near=error.near, hint=hint) from error


def _name_of(source: SkillSource) -> str:
    """Return the last part of a source's location, without the ending of an archive."""
    from skillhub_mcp.library.sources.source import SourceKind

    location = source.location.partition("?")[0] if source.kind is SourceKind.WEB else source.location
    last = location.replace("\\", "/").rstrip("/").rpartition("/")[2]
    for ending in (".git", ".zip", ".tar.gz", ".tgz", ".tar", ".skill", ".md"):
        last = last.removesuffix(ending)
    return last or "skill"


def _from(source: SkillSource, tree: Tree) -> str:
    commit = f" at {tree.commit[:_LOOKED_LIKE]}" if tree.commit else ""
    return f"From {in_line(shown_path(str(source)))}{commit}:"


def _list(found: Candidates, source: SkillSource, tree: Tree, *, as_json: bool) -> None:
    from skillhub_mcp.library.install import install_name

    if as_json:
        skills = [
            {
                "name": install_name(one),
                "title": one.name,
                "path": one.path,
                "description": one.skill.description if one.skill else None,
                "files": len(one.files),
                "problem": one.problem or None,
                "copies": list(one.copies),
            }
            for one in found.skills
        ]
        left_out = [{"what": left.what, "reason": left.reason} for left in found.left_out]
        print_json({"source": str(source), "commit": tree.commit or None, "skills": skills, "left_out": left_out})
        return
    print_text(f"{_from(source, tree)} {plural(len(found.skills), 'skill')}")
    for one in found.skills:
        print_text(f"  {in_line(install_name(one))}  {in_line(one.path or '.')}")
        text = f"cannot be installed: {one.problem}" if one.problem else one.skill.description if one.skill else ""
        print_text(f"    {one_line(text)}")


def _tell_left_out(reported: Sequence[str]) -> None:
    """Note what a source offers and cannot be installed; its author controls length and number."""
    for text in reported[:_MOST_TOLD]:
        print_note(f"left out: {in_line(shortened(text, _TOLD_CHARACTERS))}")
    if len(reported) > _MOST_TOLD:
        print_note(f"left out: {len(reported) - _MOST_TOLD:,} more; --json has all")


def _restore(
    args: argparse.Namespace,
    options: Mapping[str, str],
    place: LibraryPlace,
    opening: OpenOptions,
    terms: InstallOptions,
) -> int:
    from skillhub_mcp.library.frozen import missing_of, restore

    if not os.path.exists(place.lock_path):
        raise LockUnreadable(place.lock_path, "there is none", hint=f"run {place.command('lock')} to create one")
    missing, line_ends = missing_of(place.root, place.lock_path, replace=args.replace, verify=place.command("verify"))
    names = [one.name for one in missing]
    replaced = any(os.path.lexists(os.path.join(place.root, name)) for name in names)
    if missing and not args.dry_run:
        with scratch_directory("look") as scratch:
            gone = restore(place.root, place.lock_path, missing, opening, terms, scratch)
        replaced = replaced or bool(gone)
    problem = refresh_index(options, names).problem if missing and not args.dry_run else ""
    if args.json:
        result = {"restored": names, "line_ends": list(line_ends), "index_problem": problem or None}
        print_json(place.json(dry_run=args.dry_run) | result)
        return EXIT_OK
    root, verb = in_line(shown_path(place.root)), "would be" if args.dry_run else "is"
    for name in names:
        print_text(f"{in_line(name)} {verb} in {root}, exactly as locked")
    if replaced:
        print_note(f"What {'would be' if args.dry_run else 'was'} replaced lies in its trash")
    if not names:
        print_text(f"Every skill of the lock is in {root}, {'as' if line_ends else 'exactly as'} locked")
    if line_ends:
        print_note(f"Only line ends differ from what was locked: {in_line(', '.join(line_ends))}")
        if hint := place.attributes_hint():
            print_note(hint)
    note_index_problem(problem)
    return EXIT_OK
