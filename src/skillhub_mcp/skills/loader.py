"""The small loader of seed 004, for a program of one's own: a directory of skills, their descriptions, their bodies."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypedDict

from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.skills.documents import read_document
from skillhub_mcp.skills.files import read_whole
from skillhub_mcp.skills.model import SKILL_FILE, FileStamp
from skillhub_mcp.skills.parser import parse_skill
from skillhub_mcp.skills.roots import make_roots
from skillhub_mcp.skills.scanner import MAX_SKILL_FILE_BYTES, ReadDepth, scan
from skillhub_mcp.skills.snapshot import Snapshot
from skillhub_mcp.skills.suggestions import not_found

NO_SKILLS = "(no skills available)"


class ParsedSkill(TypedDict):
    """What `SkillLoader.parse_skill_md` returns. `path` is the SKILL.md, `dir` its directory."""

    name: str
    description: str
    body: str
    path: Path
    dir: Path


class SkillSummary(TypedDict):
    """What a `SkillLoader` knows of a skill without its body. `path` is the SKILL.md, `dir` its directory."""

    name: str
    description: str
    path: Path
    dir: Path


class SkillLoader:
    """The skills below one directory, as seed 004 has them: names are read at once, bodies when they are asked for."""

    def __init__(self, skills_dir: Path | str) -> None:
        self._roots = make_roots([os.fspath(skills_dir)])
        self._snapshot = self._scan()

    @property
    def skills(self) -> dict[str, SkillSummary]:
        """The skills that were found, by name."""
        return {
            skill.name: SkillSummary(
                name=skill.name,
                description=skill.description,
                path=Path(skill.directory, SKILL_FILE),
                dir=Path(skill.directory),
            )
            for skill in self._snapshot.skills
        }

    def load_skills(self) -> None:
        """Look at the directory again: what is new is found, what is gone goes."""
        self._snapshot = self._scan()

    def parse_skill_md(self, path: Path | str) -> ParsedSkill | None:
        """Return what one SKILL.md says, or None where it has no usable frontmatter; never raises on its content.

        Raises FileNotFoundError where there is no such file.
        """
        given = Path(path)
        directory = given.parent.resolve()
        status = given.stat()
        try:
            content = read_whole(directory, given.name, skill=directory.name, max_bytes=MAX_SKILL_FILE_BYTES)
        except SkillHubError:
            return None
        stamp = FileStamp(status.st_mtime_ns, status.st_size, "", 0)
        place = os.fspath(directory)
        read = parse_skill(content, directory=place, root=place, directory_name=directory.name, stamp=stamp)
        if read.skill is None or not read.skill.description:
            return None
        return ParsedSkill(
            name=read.skill.name, description=read.skill.description, body=read.body, path=given, dir=directory
        )

    def get_descriptions(self) -> str:
        """Return a line `- name: description` for each skill, for a system prompt."""
        lines = (f"- {skill.name}: {' '.join(skill.description.split())}" for skill in self._snapshot.skills)
        return "\n".join(lines) or NO_SKILLS

    def get_skill_content(self, name: str) -> str:
        """Return `# Skill: name`, a blank line and the body as the file holds it now.

        Raises SkillNotFound and SkillUnreadable.
        """
        skill = self._snapshot.named(name)
        if skill is None:
            raise not_found(name, self.skills, search_tool="get_descriptions")
        return f"# Skill: {skill.name}\n\n{read_document(skill).instructions}"

    def _scan(self) -> Snapshot:
        return scan(self._roots, memory={}, reading=ReadDepth.HEADER).snapshot
