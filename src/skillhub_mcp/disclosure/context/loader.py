"""Select a skill of a catalogue by path or name, and render it as `<skill_context>` with a list of its files."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from skillhub_mcp.disclosure.context.catalogue import Listing
from skillhub_mcp.disclosure.context.schema import SkillMetadata
from skillhub_mcp.disclosure.ledger import Shown
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import AmbiguousSkill, InvalidArgument, SkillHubError, SkillNotFound, SkillUnreadable
from skillhub_mcp.sanitize import contained, in_attribute, in_element, path_for_model, refuse_nul
from skillhub_mcp.skills.files.content import read_whole
from skillhub_mcp.skills.files.listing import list_files
from skillhub_mcp.skills.frontmatter import decode
from skillhub_mcp.skills.model import MAX_SKILL_FILE_BYTES, SKILL_FILE
from skillhub_mcp.skills.names import not_found

_SEARCH_TOOL = "skill_search"
_MAX_FILES = 200
_MAX_LISTED_BYTES = 16 * 1024
_PLACES = "only those in .agents/skills of the project and of the user are known here"


def select_skill(
    listing: Listing,
    *,
    name: str | None,
    path: str | None,
    with_paths: bool = True,
    elsewhere: Callable[[str], str | None] = lambda _: None,
) -> SkillMetadata:
    """Return the skill at `path`, or the only enabled one of that name. Raises SkillHubError."""
    refuse_nul(name=name, path=path)
    unknown = partial(_not_found, listing=listing, with_paths=with_paths, elsewhere=elsewhere)
    if path:
        found = _at_path(listing, path)
        if found is not None:
            return found
        if name is not None or all(skill.name != path for skill in listing.skills):
            raise unknown(path)
    wanted = (name or path or "").strip()
    if not wanted:
        raise InvalidArgument("name", "or path must be given", hint=f"find one with {_SEARCH_TOOL}")
    named = [skill for skill in listing.skills if skill.name == wanted]
    matches = [skill for skill in named if skill.path not in listing.disabled] or named[:1]
    if len(matches) > 1:
        raise AmbiguousSkill(
            wanted,
            candidates=[skill.path if with_paths else skill.id for skill in matches],
            kind="paths" if with_paths else "ids",
        )
    if not matches:
        raise unknown(wanted)
    return matches[0]


def load_skill_context(
    skill: SkillMetadata, *, with_paths: bool = True, handle: str | None = None
) -> tuple[str, os.stat_result]:
    """Return the skill's whole SKILL.md and files, with its directory if `with_paths`, and the status of SKILL.md.

    Raises SkillUnreadable.
    """
    try:
        status = os.stat(skill.path)
        content = read_whole(skill.dir, SKILL_FILE, skill=skill.name, max_bytes=MAX_SKILL_FILE_BYTES)
    except OSError as error:
        raise SkillUnreadable(skill.name, path=skill.path, reason=error.strerror or "it no longer exists") from error
    except SkillHubError as error:
        raise SkillUnreadable(skill.name, path=skill.path, reason=error.message) from error
    text, diagnostics = decode(content)
    if text is None:
        found = diagnostics[-1]
        raise SkillUnreadable(skill.name, path=skill.path, reason=f"{found.message}; {found.hint}")
    return _render(skill, text, with_paths=with_paths, handle=handle or skill.id), status


def already_loaded_notice(skill: SkillMetadata, before: Shown, *, with_paths: bool = True) -> str:
    """Return the notice that replaces an unchanged skill that this session has loaded, with how its text began."""
    location = path_for_model(skill.path) if with_paths else f"id {skill.id}"
    return (
        f"Skill {skill.name!r} is already loaded and has not changed: {location} (mtime: {before.mtime_ms or 0:.0f}). "
        f"Its instructions are in the text that begins with\n{before.opening}\n"
        "If you no longer have it, call skill_load with force=true."
    )


def _render(skill: SkillMetadata, content: str, *, with_paths: bool, handle: str) -> str:
    path = f" path={in_attribute(skill.path)}" if with_paths else ""
    # With a slash at the end, relative paths resolve against it.
    base = [f"Base directory: {Path(skill.dir).as_uri().rstrip('/')}/"] if with_paths else []
    reader = f"its own directory: read one with read_skill_file, skill_name={path_for_model(handle)}"
    base_name = "this directory" if with_paths else reader
    lines = [
        f"<skill_context name={in_attribute(skill.name)}{path}>",
        contained(content).rstrip("\n"),
        "",
        *base,
        f"Relative paths in this skill are resolved from {base_name}.",
        *_listed_files(skill, with_paths=with_paths),
        "</skill_context>",
    ]
    return "\n".join(lines)


def _listed_files(skill: SkillMetadata, *, with_paths: bool) -> list[str]:
    entries, more = list_files(skill.dir, serve_dotfiles=False)
    parent = skill.dir if with_paths else ""
    paths = sorted(os.path.join(parent, entry.path) for entry in entries if entry.path != SKILL_FILE)
    lines: list[str] = []
    remaining = _MAX_LISTED_BYTES
    for path in paths[:_MAX_FILES]:
        remaining -= len(path.encode("utf-8", "surrogateescape"))
        if remaining < 0:
            break
        lines.append(f"<file>{in_element(path)}</file>")
    omitted = len(paths) - len(lines)
    if omitted or more:
        count = "more files" if more else f"{omitted:,} more files"
        lines.append(f"<note>{count} are not listed</note>")
    return ["<skill_files>", *lines, "</skill_files>"] if lines else []


def _at_path(listing: Listing, path: str) -> SkillMetadata | None:
    normalized = os.path.normpath(os.path.join(listing.cwd, expand_home(path)))
    candidates = {normalized, os.path.realpath(normalized)}
    given = (one for one in listing.skills if one.id == path or {one.path, one.dir} & candidates)
    # A root may be a link.
    behind_links = (
        one for one in listing.skills if {os.path.realpath(one.path), os.path.realpath(one.dir)} & candidates
    )
    return next(itertools.chain(given, behind_links), None)


def _not_found(
    wanted: str, listing: Listing, *, with_paths: bool, elsewhere: Callable[[str], str | None]
) -> SkillNotFound:
    refused = listing.refused.get(wanted)
    reason = ""
    if refused is not None:
        reason = f"{refused.path if with_paths else short_path(refused.path)} is refused: {refused.message}"
    shown = [skill.name for skill in listing.shown]
    handle = elsewhere(wanted)
    if handle is not None:
        hint = f"load it with load_skill as {handle!r}"
        return SkillNotFound(wanted, near=[handle], reason=reason or _PLACES, hint=hint)
    return not_found(wanted, shown, search_tool=_SEARCH_TOOL, reason=reason or ("" if shown else _PLACES))


def short_path(path: str) -> str:
    """Return the last two parts of a path."""
    return os.path.join(os.path.basename(os.path.dirname(path)), os.path.basename(path))
