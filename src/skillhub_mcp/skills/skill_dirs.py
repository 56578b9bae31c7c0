"""The directory and the SKILL.md of a skill on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable

from skillhub_mcp.skills.discovery import skill_file_in
from skillhub_mcp.skills.model import SKILL_FILE, Skill

# Returns the directory with the files of a skill, as they were when that skill was seen. Raises SkillHubError.
FilesOf = Callable[[Skill], str]


def skill_path(skill: Skill) -> str:
    """Return the path of the skill's SKILL.md, in the letter case that it has."""
    odd = any(found.rule == "file-name" for found in skill.diagnostics)
    return os.path.join(skill.directory, (skill_file_in(skill.directory) if odd else None) or SKILL_FILE)


def own_directory(skill: Skill) -> str:
    """Return the directory that the skill was found in."""
    return skill.directory
