"""`skillhub add`: skills from a source into a root, looked at, agreed to, and locked."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

from skillhub_mcp._util.tempdir import scratch_directory
from skillhub_mcp._util.wording import plural
from skillhub_mcp.cli.arguments import decode_argument, new_skill_name
from skillhub_mcp.cli.console import one_line, print_line, print_note
from skillhub_mcp.cli.installing import add_terms, finish, terms_of
from skillhub_mcp.cli.library_place import (
    LibraryPlace,
    RefreshedIndex,
    add_place_options,
    open_options,
    place_of,
    refresh_index,
)
from skillhub_mcp.cli.output import EXIT_OK, first_lines, print_json
from skillhub_mcp.environment import shown_path
from skillhub_mcp.errors import InvalidArgument, LockUnreadable, SkillNotFound
from skillhub_mcp.library.candidates import Candidate, Candidates, candidates, chosen
from skillhub_mcp.library.install import Incoming, install_name, missing_of, prepare, refuse_unusable, restore
from skillhub_mcp.library.sources.opening import absolute, open_source
from skillhub_mcp.library.sources.source import (
    ALL_SKILLS,
    SkillSource,
    SourceKind,
    as_ref,
    parse_source,
    refuse_directory,
)
from skillhub_mcp.library.sources.upstream import incoming_of
from skillhub_mcp.library.tree import Tree
from skillhub_mcp.sanitize import shortened
from skillhub_mcp.settings import settings_of

# What `lock --adopt` has no options for.
_UNNAMED = {"list": False, "skill": (), "name": None, "ref": "", "path": "", "replace": False}
_MOST_LEFT_OUT = 20
_SHOWN_CHARACTERS = 400


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("source", nargs="?", metavar="SOURCE", help="./dir, file.zip, owner/repo, a URL, or git@host:…")
    parser.add_argument("--list", action="store_true", help="only list the skills of the source")
    parser.add_argument(
        "--skill", action="append", default=[], metavar="NAME", help="only this skill (repeatable; '*' for all)"
    )
    parser.add_argument("--name", metavar="NEW", help="install the one skill under this name")
    parser.add_argument("--ref", default="", metavar="REF", help="branch, tag or commit of the repository")
    parser.add_argument("--path", default="", metavar="SUBDIR", help="directory within the source")
    parser.add_argument("--replace", action="store_true", help="replace skills that have these names")
    parser.add_argument("--frozen", action="store_true", help="install exactly what the lock file says, or fail")
    add_terms(parser)
    add_place_options(parser)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Fetch skills from a directory, an archive, a git repository or a site, show what is in them and what the audit
    finds, and install them when you agree. The source and the files are recorded in skills-lock.json.
    """
    place = place_of(args, options)
    if args.frozen:
        if args.source is not None or args.skill or args.name or args.list:
            raise InvalidArgument("--frozen", "takes no source", hint="it installs what the lock names")
        return _restore(args, options, place)
    if args.source is None:
        raise InvalidArgument("SOURCE", "is required", hint="skillhub add --help")
    return add_from(decode_argument(args.source), args, options, place)


def add_from(
    typed: str,
    args: argparse.Namespace,
    options: Mapping[str, str],
    place: LibraryPlace,
    *,
    only: Collection[str] | None = None,
) -> int:
    """Add the skills of a source; with `only`, those whose names are among them. Raises what `run` raises."""
    here = os.getcwd()
    refuse_directory(typed, lambda path: os.path.lexists(os.path.join(here, path)))
    if only is not None:
        args = argparse.Namespace(**_UNNAMED, **vars(args))
    skills = [decode_argument(name) for name in args.skill]
    ref, path = decode_argument(args.ref), decode_argument(args.path)
    source = parse_source(typed, ref=ref, path=path, skills=skills, insecure=args.insecure)
    opening = open_options(settings_of(options), insecure=args.insecure)
    with closing(open_source(source, opening)) as tree:
        source = absolute(source, opening)
        found = candidates(tree, source.path, name=_name_of(source))
        picked = _chosen(found, source)
        if args.list:
            _list(picked, found, source, tree, as_json=args.json)
            return EXIT_OK
        usable = [one for one in picked if not one.problem]
        if (source.skills and ALL_SKILLS not in source.skills) or not usable:
            for one in picked:
                refuse_unusable(one, tree)
        usable = [one for one in usable if only is None or install_name(one) in only]
        if not usable:
            raise SkillNotFound(str(source), reason=f"{source} has no skill that is in {place.root}")
        incoming = _incoming(usable, args.name, source, tree)
        left_out = _left_out(found)
        if not args.json:
            _note_left_out(left_out)
        terms = terms_of(args, settings_of(options), replace=args.replace)
        with scratch_directory("look") as scratch:
            prepared = prepare(place.root, place.lock_path, incoming, terms, scratch)
            if not args.json:
                print_line(_from(source, tree))
            more = {"source": str(source), "commit": tree.commit or None, "left_out": left_out}
            return finish(prepared, place, args, options, more)


def _incoming(picked: Sequence[Candidate], name: str | None, source: SkillSource, tree: Tree) -> list[Incoming]:
    if name is None:
        return [incoming_of(one, tree, source, install_name(one)) for one in picked]
    if len(picked) != 1:
        raise InvalidArgument("--name", f"names one skill, and there are {len(picked)}", hint="choose it with --skill")
    new_name = new_skill_name("--name", name, "--name")
    return [replace(incoming_of(picked[0], tree, source, new_name), rename=True)]


def _chosen(found: Candidates, source: SkillSource) -> tuple[Candidate, ...]:
    """Return the skills that are named, or all. Raises SkillNotFound and AmbiguousSkill."""
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
    location = source.location.partition("?")[0] if source.kind is SourceKind.WEB else source.location
    last = location.replace("\\", "/").rstrip("/").rpartition("/")[2]
    for ending in (".git", ".zip", ".tar.gz", ".tgz", ".tar", ".skill", ".md"):
        last = last.removesuffix(ending)
    return last or "skill"


def _from(source: SkillSource, tree: Tree) -> str:
    commit = f" at {tree.commit[:8]}" if tree.commit else ""
    return f"From {shown_path(str(source))}{commit}:"


def _list(picked: Sequence[Candidate], found: Candidates, source: SkillSource, tree: Tree, *, as_json: bool) -> None:
    left_out = _left_out(replace(found, skills=()))
    skills = [
        {
            "name": install_name(one),
            "title": one.name,
            "path": one.path,
            "description": one.description or None,
            "files": len(one.files),
            "problem": one.problem or None,
            "copies": list(one.copies),
        }
        for one in picked
    ]
    if as_json:
        print_json({"source": str(source), "commit": tree.commit or None, "skills": skills, "left_out": left_out})
        return
    print_line(f"{_from(source, tree)} {plural(len(skills), 'skill')}")
    for one in skills:
        print_line(f"  {one['name']}  {one['path'] or '.'}")
        problem = f"cannot be installed: {one['problem']}" if one["problem"] else ""
        print_line(f"    {one_line(problem or str(one['description'] or ''))}")
    _note_left_out(left_out)


def _left_out(found: Candidates) -> list[dict[str, str]]:
    left_out = [{"what": left.what, "reason": left.reason} for left in found.left_out]
    return left_out + [{"what": one.path or ".", "reason": one.problem} for one in found.skills if one.problem]


def _note_left_out(left_out: Sequence[Mapping[str, str]]) -> None:
    """Note what a source offers and cannot be installed; its author controls length and number."""
    lines = [f"left out: {shortened(' '.join(one.values()), _SHOWN_CHARACTERS)}" for one in left_out]
    print_note(*first_lines(lines, _MOST_LEFT_OUT))


def _restore(args: argparse.Namespace, options: Mapping[str, str], place: LibraryPlace) -> int:
    if not os.path.exists(place.lock_path):
        raise LockUnreadable(place.lock_path, hint=f"run {place.command('lock')} to create one")
    settings = settings_of(options)
    opening = open_options(settings, insecure=args.insecure, place=place)
    missing, line_ends = missing_of(place.root, place.lock_path, replace=args.replace)
    names = [one.name for one in missing]
    replaced = any(os.path.lexists(os.path.join(place.root, name)) for name in names)
    index = RefreshedIndex()
    if missing and not args.dry_run:
        terms = terms_of(args, settings, replace=args.replace)
        with scratch_directory("look") as scratch:
            restore(place.root, missing, opening, terms, scratch)
        index = refresh_index(options, names)
    if args.json:
        result = {"restored": names, "line_ends": list(line_ends), "index_problem": index.problem or None}
        return print_json(place.json(dry_run=args.dry_run) | result)
    verb = "would be" if args.dry_run else "is"
    for name in names:
        print_line(f"{name} {verb} in {shown_path(place.root)}, exactly as locked")
    if not names:
        print_line(f"Every skill of the lock is in {shown_path(place.root)}, as locked")
    if replaced:
        print_note("What was replaced lies in its trash")
    place.note_line_ends(line_ends)
    index.note_problem()
    return EXIT_OK
