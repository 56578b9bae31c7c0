"""A skill's SKILL.md in full: its instructions, read from the file on every call."""

from __future__ import annotations

import hashlib

from skillhub_mcp.errors import SkillHubError, SkillUnreadable
from skillhub_mcp.skills.discovery import skill_path
from skillhub_mcp.skills.files import read_whole
from skillhub_mcp.skills.frontmatter import body_of, parse
from skillhub_mcp.skills.model import MAX_SKILL_FILE_BYTES, SKILL_FILE, Skill, SkillDocument


def read_document(skill: Skill, directory: str | None = None) -> SkillDocument:
    """Read the SKILL.md of `skill`, in the `directory` of its files if that is not its own. Raises SkillUnreadable."""
    return SkillDocument(skill, _body(skill, directory or skill.directory))


def read_instructions(skill: Skill) -> str:
    """Read the instructions of a skill that was scanned a moment ago. Raises SkillUnreadable."""
    content = _read(skill, skill.directory)
    if hashlib.sha256(content).hexdigest() == skill.stamp.content_hash:
        return body_of(content)
    return _body(skill, skill.directory)


def _read(skill: Skill, directory: str) -> bytes:
    try:
        return read_whole(directory, SKILL_FILE, skill=skill.name, max_bytes=MAX_SKILL_FILE_BYTES)
    except SkillHubError as error:
        raise SkillUnreadable(skill.name, path=skill_path(skill), reason=error.message) from error


def _body(skill: Skill, directory: str) -> str:
    document = parse(_read(skill, directory))
    if document.values is None:
        found = document.diagnostics[-1]
        raise SkillUnreadable(skill.name, path=skill_path(skill), reason=f"{found.message}; {found.hint}")
    return document.body
