"""Where the files of a skill lie on this machine: in its own directory, or where somebody keeps them for it."""

from __future__ import annotations

from collections.abc import Callable

from skillhub_mcp.skills.model import Skill

# Returns the directory with the files of a skill, as they were when that skill was seen. Raises SkillHubError.
FilesOf = Callable[[Skill], str]


def own_directory(skill: Skill) -> str:
    """Return the directory that the skill was found in."""
    return skill.directory
