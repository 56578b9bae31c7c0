"""A skill's SKILL.md in full: its instructions, read from the file on every call."""

from __future__ import annotations

import hashlib
import os
from functools import partial

from skillhub_mcp.errors import SkillHubError, SkillUnreadable
from skillhub_mcp.skills.discovery import skill_file_in
from skillhub_mcp.skills.files import read_whole
from skillhub_mcp.skills.frontmatter import body_of, parse
from skillhub_mcp.skills.model import MAX_SKILL_FILE_BYTES, SKILL_FILE, Skill, SkillDocument
from skillhub_mcp.skills.skill_dirs import skill_path
from skillhub_mcp.skills.stable_read import read_settled


def read_document(skill: Skill, directory: str | None = None) -> SkillDocument:
    """Read the SKILL.md of `skill`, in the `directory` of its files if that is not its own. Raises SkillUnreadable."""
    return SkillDocument(skill, _body(skill, directory or skill.directory))


def read_instructions(skill: Skill) -> str:
    """Read the instructions of a skill that was scanned a moment ago. Raises SkillUnreadable."""
    content = _read(skill, skill.directory)
    if hashlib.sha256(content).hexdigest() == skill.stamp.content_hash:
        return body_of(content)
    return _body(skill, skill.directory)


def is_usable(content: bytes) -> bool:
    """Whether the bytes of a SKILL.md have a frontmatter that can be read."""
    return parse(content).values is not None


def _read(skill: Skill, directory: str) -> bytes:
    try:
        return read_whole(directory, SKILL_FILE, skill=skill.name, max_bytes=MAX_SKILL_FILE_BYTES)
    except SkillHubError as error:
        raise SkillUnreadable(skill.name, path=skill_path(skill), reason=error.message) from error


def _body(skill: Skill, directory: str) -> str:
    content, is_being_written = read_settled(
        os.path.join(directory, skill_file_in(directory) or SKILL_FILE), partial(_read, skill, directory), is_usable
    )
    document = parse(content)
    if document.values is None:
        found = document.diagnostics[-1]
        reason = f"{found.message}; {found.hint}"
        raise SkillUnreadable(skill.name, path=skill_path(skill), reason=reason, is_being_written=is_being_written)
    return document.body
