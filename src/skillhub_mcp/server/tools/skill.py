"""The set `skill`: the Skill tool, which returns instructions as the most recent message of a conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastmcp.tools.base import ToolResult
from pydantic import Field

from skillhub_mcp.disclosure.skill_loaded import render_skill_loaded
from skillhub_mcp.hub import LoadedSkill, SkillHub
from skillhub_mcp.policy.access import load_grant
from skillhub_mcp.sanitize import path_for_model
from skillhub_mcp.server.middleware.sessions import Sessions
from skillhub_mcp.server.tools.arguments import MAX_NAME_CHARACTERS
from skillhub_mcp.skills.discovery import skill_path
from skillhub_mcp.skills.model import is_skill_file


@dataclass(frozen=True, slots=True)
class SkillTool:
    """The tool of one hub. With `with_paths` the client shares the disk, and gets the directory of the files.

    `closing` is the sentence that ends the answer.
    """

    hub: SkillHub
    sessions: Sessions
    with_paths: bool
    closing: str

    def load(
        self,
        skill: Annotated[str, Field(max_length=MAX_NAME_CHARACTERS, description="Its name, such as pdf")],
        part: Annotated[int, Field(ge=1, description="For a body in parts: the next part")] = 1,
    ) -> ToolResult:
        session = self.sessions.current()
        name = skill.strip().removeprefix("/")
        loaded = self.hub.load(name, part=part, granted=session.granted)
        if part > 1:
            session.ledger.check_goes_on("skill", skill_path(loaded.skill), loaded.digest, argument="part", first=1)
        # Permission to load the instructions includes the names of the files that they refer to.
        granted = {*session.granted, *load_grant(loaded.skill)}
        files, _ = self.hub.list_files(loaded.handle, granted=granted)
        text = render_skill_loaded(
            path_for_model(loaded.handle),
            loaded.instructions,
            files=[file.path for file in files if not is_skill_file(file.path)] if part == 1 else [],
            directory=loaded.skill.directory if self.with_paths else "",
            rest=_rest(loaded),
            closing=self.closing,
        )
        session.ledger.record_skill(loaded.skill, text, part=part, parts=loaded.parts, digest=loaded.digest)
        return ToolResult(content=text)


def _rest(loaded: LoadedSkill) -> str:
    """Return which part this is, of which version, and how to go on; nothing for a whole body."""
    if loaded.parts == 1:
        return ""
    reported = f"part {loaded.part} of {loaded.parts}, digest {loaded.digest}"
    return f"{reported}; go on with part={loaded.part + 1}" if loaded.part < loaded.parts else reported
