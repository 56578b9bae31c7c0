"""A skill's SKILL.md in full: its instructions, read from the file on every call."""

from __future__ import annotations

import os

from skillhub_mcp.errors import SkillHubError, SkillUnreadable
from skillhub_mcp.skills.files import read_whole
from skillhub_mcp.skills.frontmatter import parse
from skillhub_mcp.skills.model import SKILL_FILE, Skill, SkillDocument
from skillhub_mcp.skills.scanner import MAX_SKILL_FILE_BYTES


def read_document(skill: Skill, directory: str | None = None) -> SkillDocument:
    """Read the SKILL.md of `skill`, in the `directory` where its files lie if that is not its own.

    Raises SkillUnreadable if it no longer exists or is no longer usable.
    """
    path = os.path.join(skill.directory, SKILL_FILE)
    try:
        content = read_whole(directory or skill.directory, SKILL_FILE, skill=skill.name, max_bytes=MAX_SKILL_FILE_BYTES)
    except SkillHubError as error:
        raise SkillUnreadable(skill.name, path=path, reason=error.message) from error
    document = parse(content)
    if document.values is None:
        raise SkillUnreadable(skill.name, path=path, reason=document.diagnostics[-1].message)
    return SkillDocument(skill, document.body)
