"""A source as a lock writes it, in the fields that `npx skills` reads, and back. Pure.

A lock comes with a repository: what it names goes through the same parser as what a person types.
"""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from skillhub_mcp.errors import SourceUnreadable
from skillhub_mcp.library.sources.source import GITHUB, GITLAB, SkillSource, SourceKind, forge_name, parse_source
from skillhub_mcp.library.tree import Tree
from skillhub_mcp.locks.lock_file import LockedSkill
from skillhub_mcp.redaction import redacted
from skillhub_mcp.skills.model import SKILL_FILE

_GITHUB, _GITLAB, _GIT, _LOCAL, _URL, _WELL_KNOWN = "github", "gitlab", "git", "local", "url", "well-known"
_KINDS = {
    SourceKind.GIT: _GIT, SourceKind.WEB: _URL, SourceKind.DIRECTORY: _LOCAL, SourceKind.ARCHIVE: _LOCAL
}  # fmt: skip


def locked_from(name: str, source: SkillSource, path: str, *, artifact: str = "") -> LockedSkill:
    """Return the entry of the skill `name` at `path` of its source; `artifact` is its digest in a site's index."""
    document = document_of(path)
    if source.kind is SourceKind.WEB and artifact:
        host = (urlsplit(source.location).hostname or "").removeprefix("www.")
        inner = document if path != name else ""
        return LockedSkill(
            name, host, _WELL_KNOWN, source_url=source.location, skill_path=inner, well_known_digest=artifact
        )
    where, kind = source.location, _KINDS[source.kind]
    for host, forge in ((GITHUB, _GITHUB), (GITLAB, _GITLAB)):
        if short := forge_name(where, host):
            where, kind = short, forge
    return LockedSkill(name, where, kind, ref=source.ref, skill_path=document)


def entry_from(name: str, tree: Tree, path: str, source: SkillSource) -> LockedSkill:
    """Return the entry of a skill at `path` of a tree."""
    artifact = tree.tree_id(path) if source.kind is SourceKind.WEB and path else ""
    return locked_from(name, source, path, artifact=artifact)


def source_of(locked: LockedSkill, *, insecure: bool = False) -> SkillSource:
    """Return the source of an entry, without the skill's place in it. Raises SourceUnreadable."""
    kind, typed = locked.source_type, locked.source
    if kind in (_GITHUB, _GITLAB):
        text = f"{kind}:{typed}" if "://" not in typed and "@" not in typed else typed
        return parse_source(text, ref=locked.ref, insecure=insecure)
    if kind == _GIT:
        plain = typed.startswith(("http://", "https://")) and not typed.endswith(".git")
        return parse_source(f"git+{typed}" if plain else typed, ref=locked.ref, insecure=insecure)
    if kind == _LOCAL:
        text = typed if os.path.isabs(typed) or typed.startswith(("~", ".")) else f"./{typed}"
        return parse_source(text, insecure=insecure)
    if kind == _URL:
        return parse_source(typed, insecure=insecure)
    if kind == _WELL_KNOWN:
        return parse_source(locked.source_url, skills=[place_of(locked) or locked.name], insecure=insecure)
    raise SourceUnreadable(typed, f"is of the kind {kind!r}, from which SkillHub does not fetch")


def place_of(locked: LockedSkill) -> str:
    """Return the directory of a skill in its source, `""` for its top; of a site's index, its name there."""
    if not locked.skill_path and locked.source_type == _WELL_KNOWN:
        return locked.name
    return locked.skill_path.removesuffix(SKILL_FILE).strip("/")


def document_of(place: str) -> str:
    """Return the path of the SKILL.md of the skill at `place` of a source."""
    return f"{place}/{SKILL_FILE}" if place else SKILL_FILE


def is_same_place(first: LockedSkill, second: LockedSkill) -> bool:
    """Whether two entries are of one skill of one source, whatever ref of it."""

    def place(locked: LockedSkill) -> tuple[str, str, str, str]:
        return locked.source_type, locked.source, locked.source_url, place_of(locked)

    return place(first) == place(second)


def shown_source(locked: LockedSkill) -> str:
    """Return where an entry is from as a person would type it, as far as that can be said."""
    try:
        return str(source_of(locked))
    except SourceUnreadable:
        return redacted(locked.source)
