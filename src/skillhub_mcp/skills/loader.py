"""A skill's SKILL.md in full, read on every call, and `SkillLoader`, a small loader for Python programs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypedDict

from skillhub_mcp.errors import SkillHubError, SkillUnreadable
from skillhub_mcp.sanitize import for_model, refuse_nul
from skillhub_mcp.skills.discovery import skill_path
from skillhub_mcp.skills.files.content import read_whole
from skillhub_mcp.skills.frontmatter import parse
from skillhub_mcp.skills.model import MAX_SKILL_FILE_BYTES, SKILL_FILE, Skill
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.names import not_found, shown_name
from skillhub_mcp.skills.parser import parse_skill
from skillhub_mcp.skills.roots import make_roots
from skillhub_mcp.skills.scanner import read_snapshot


def read_instructions(skill: Skill, directory: str | None = None) -> str:
    """Read the body of a SKILL.md, in the `directory` of its files if that is not its own. Raises SkillUnreadable."""
    try:
        content = read_whole(directory or skill.directory, SKILL_FILE, skill=skill.name, max_bytes=MAX_SKILL_FILE_BYTES)
    except SkillHubError as error:
        raise SkillUnreadable(skill.name, path=skill_path(skill), reason=error.message) from error
    document = parse(content)
    if document.values is None:
        found = document.diagnostics[-1]
        raise SkillUnreadable(skill.name, path=skill_path(skill), reason=f"{found.message}; {found.hint}")
    return document.body


NO_SKILLS = "(no skills available)"


class SkillSummary(TypedDict):
    """A skill without its body, as `SkillLoader.skills` returns it. `path` is the SKILL.md, `dir` its directory."""

    name: str
    description: str
    path: Path
    dir: Path


class ParsedSkill(SkillSummary):
    """What `SkillLoader.parse_skill_md` returns."""

    body: str


class SkillLoader:
    """The skills below one directory. Frontmatter is read by the constructor, bodies on request."""

    def __init__(self, skills_dir: Path | str) -> None:
        refuse_nul(skills_dir=os.fspath(skills_dir))
        self._roots = make_roots([os.fspath(skills_dir)])
        self.load_skills()

    @property
    def skills(self) -> dict[str, SkillSummary]:
        """The skills as of the last scan, by name."""
        return {
            skill.name: SkillSummary(
                name=skill.name, description=skill.description, path=Path(skill_path(skill)), dir=Path(skill.directory)
            )
            for skill in self._snapshot.skills
        }

    def load_skills(self) -> None:
        """Scan the directory again, to find new and changed skills and to drop deleted ones."""
        self._snapshot = read_snapshot(self._roots)

    def parse_skill_md(self, path: Path | str) -> ParsedSkill | None:
        """Parse one SKILL.md; None if its frontmatter is unusable. Raises FileNotFoundError."""
        refuse_nul(path=os.fspath(path))
        given = Path(path)
        directory = given.parent.resolve()
        given.stat()  # raises FileNotFoundError
        try:
            content = read_whole(directory, given.name, skill=directory.name, max_bytes=MAX_SKILL_FILE_BYTES)
        except SkillHubError:
            return None
        parsed = parse_skill(content, directory=os.fspath(directory), directory_name=directory.name)
        if parsed.skill is None or not parsed.skill.description:
            return None
        return ParsedSkill(
            name=parsed.skill.name, description=parsed.skill.description, body=parsed.body, path=given, dir=directory
        )

    def get_descriptions(self) -> str:
        """Return one line `- name: description` per skill, for a system prompt."""
        lines = (f"- {shown_name(skill.name)}: {for_model(skill.description)}" for skill in self._snapshot.skills)
        return "\n".join(lines) or NO_SKILLS

    def get_skill_content(self, name: str) -> str:
        """Return `# Skill: name`, a blank line and the body as the file is now. Raises SkillHubError."""
        refuse_nul(name=name)
        skill = Names(self._snapshot).find(name)
        if skill is None:
            raise not_found(name, self.skills, search_tool="get_descriptions")
        return f"# Skill: {shown_name(skill.name)}\n\n{read_instructions(skill)}"
