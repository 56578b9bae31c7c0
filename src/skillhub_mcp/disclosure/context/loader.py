"""How is a skill of the catalogue loaded? Chosen by path or name, and given whole with its files (§6.2)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skillhub_mcp.disclosure.context.catalogue import Listing
from skillhub_mcp.disclosure.context.schema import SkillMetadata
from skillhub_mcp.disclosure.ledger import Shown
from skillhub_mcp.disclosure.sanitization import escaped, quoted
from skillhub_mcp.errors import AmbiguousSkill, InvalidArgument, SkillHubError, SkillNotFound, SkillUnreadable
from skillhub_mcp.skills.files import list_files, read_whole
from skillhub_mcp.skills.frontmatter import decode
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.scanner import MAX_SKILL_FILE_BYTES
from skillhub_mcp.skills.suggestions import not_found

_NANOSECONDS_A_MILLISECOND = 1_000_000
_MAX_FILES = 200
_MAX_LISTED_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class LoadedContext:
    """A skill as a model is given it: the text, and what a program wants to know of it."""

    text: str
    skill: SkillMetadata
    mtime_ms: float


def choose(listing: Listing, *, name: str | None, path: str | None, with_paths: bool = True) -> SkillMetadata:
    """Return the skill at `path`, or else the only one of that name (seed 000 §7.2, §8.2).

    A path is absolute or relative to the working directory, and names a SKILL.md or its directory; a skill's id will
    do for one. Only what is in the catalogue counts. Raises InvalidArgument where neither is given, SkillNotFound,
    and AmbiguousSkill with paths, or with ids for a reader who is told no paths.
    """
    if path:
        return _at(listing, path)
    wanted = (name or "").strip()
    if not wanted:
        raise InvalidArgument("name", "or path must be given", hint="find one with skill_search")
    same = [skill for skill in listing.skills if skill.name == wanted]
    if len(same) > 1:
        raise AmbiguousSkill(wanted, candidates=[skill.path if with_paths else skill.id for skill in same])
    if not same:
        raise _not_found(wanted, listing.shown)
    return same[0]


def load(skill: SkillMetadata, *, with_paths: bool = True) -> LoadedContext:
    """Return the skill's whole SKILL.md as it is now, with its place and its files. Raises SkillUnreadable.

    A reader who does not share the disk gets no paths of it: files are then named from the skill's own directory.
    """
    try:
        mtime_ms = os.stat(skill.path).st_mtime_ns / _NANOSECONDS_A_MILLISECOND
        content = read_whole(skill.dir, SKILL_FILE, skill=skill.name, max_bytes=MAX_SKILL_FILE_BYTES)
    except OSError as error:
        raise SkillUnreadable(skill.name, path=skill.path, reason=error.strerror or "it is gone") from error
    except SkillHubError as error:
        raise SkillUnreadable(skill.name, path=skill.path, reason=error.message) from error
    text, found = decode(content)
    if text is None:
        raise SkillUnreadable(skill.name, path=skill.path, reason=found[-1].message)
    return LoadedContext(_rendered(skill, text, with_paths=with_paths), skill, mtime_ms)


def already_loaded(skill: SkillMetadata, before: Shown, *, with_paths: bool = True) -> str:
    """Return the reminder that stands for a body which this session has seen and which has not changed (§6.3)."""
    where = skill.path if with_paths else f"id {skill.id}"
    return (
        f"Skill {skill.name!r} is loaded already, unchanged since: {where} (mtime: {before.mtime_ms or 0:.0f}). Its "
        f"instructions stand in the result of showing {before.number} of this session. If you no longer have them, "
        "call skill_load with force=true."
    )


def _rendered(skill: SkillMetadata, content: str, *, with_paths: bool) -> str:
    path = f" path={quoted(skill.path)}" if with_paths else ""
    # A file URL with a slash at its end, from which relative paths resolve.
    base = [f"Base directory: {Path(skill.dir).as_uri().rstrip('/')}/"] if with_paths else []
    where = "this directory" if with_paths else "its own directory: read them with read_skill_file"
    lines = [
        f"<skill_context name={quoted(skill.name)}{path}>",
        content.rstrip("\n"),
        "",
        *base,
        f"Relative paths in this skill are resolved from {where}.",
        *_listed_files(skill, with_paths=with_paths),
        "</skill_context>",
    ]
    return "\n".join(lines)


def _listed_files(skill: SkillMetadata, *, with_paths: bool) -> list[str]:
    entries, more = list_files(skill.dir, serve_dotfiles=False)
    above = skill.dir if with_paths else ""
    paths = sorted(os.path.join(above, entry.path) for entry in entries if entry.path != SKILL_FILE)
    lines: list[str] = []
    left = _MAX_LISTED_BYTES
    for path in paths[:_MAX_FILES]:
        left -= len(path.encode("utf-8", "surrogateescape"))
        if left < 0:
            break
        lines.append(f"<file>{escaped(path)}</file>")
    cut = len(paths) - len(lines)
    if cut or more:
        count = "more files" if more else f"{cut:,} more files"
        lines.append(f"<note>{count} are not listed</note>")
    return ["<skill_files>", *lines, "</skill_files>"] if lines else []


def _at(listing: Listing, path: str) -> SkillMetadata:
    given = os.path.normpath(os.path.join(listing.cwd, os.path.expanduser(path)))
    places = {given, os.path.realpath(given)}
    for skill in listing.skills:
        if skill.path in places or skill.dir in places or skill.id == path:
            return skill
    raise _not_found(path, listing.shown)


def _not_found(wanted: str, skills: Sequence[SkillMetadata]) -> SkillNotFound:
    return not_found(wanted, [skill.name for skill in skills], search_tool="skill_search")
