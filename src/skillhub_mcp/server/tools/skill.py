"""The opt-in set `skill`: seed 004's tool, which puts a skill's instructions behind all that was said before."""

from __future__ import annotations

from typing import Annotated

from fastmcp import FastMCP
from fastmcp.tools.base import ToolResult
from pydantic import Field

from skillhub_mcp.disclosure.skill_loaded import render_skill_loaded
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.server.middleware.sessions import Sessions
from skillhub_mcp.server.tools.core import MAX_NAME_CHARACTERS
from skillhub_mcp.server.tools.registration import offered
from skillhub_mcp.skills.model import SKILL_FILE

_SKILL = (
    "Load a skill to gain expert knowledge for a task. Call it as soon as the task fits a skill that this server's "
    "instructions list, which are separate from those built into your host, or when the person types /name. Returns "
    "its instructions: follow them. It adds no tool and runs nothing."
)


def add_skill_tool(server: FastMCP, hub: SkillHub, sessions: Sessions, *, with_paths: bool) -> None:
    """Register `Skill`. With `with_paths` the reader shares the disk, and is told where the files lie."""

    @offered(server, name="Skill", title="Skill", description=_SKILL)
    def load_by_name(
        skill: Annotated[str, Field(max_length=MAX_NAME_CHARACTERS, description="Its name, such as pdf")],
        part: Annotated[int, Field(ge=1, description="For a body in parts: the next part")] = 1,
    ) -> ToolResult:
        present = sessions.current()
        name = skill.strip().removeprefix("/")
        loaded = hub.load(name, part=part, granted=present.granted)
        # Who may have the instructions may hear the names of the files that they speak of.
        granted = {*present.granted, *hub.granting(loaded.skill)}
        files, _ = hub.files(loaded.handle, granted=granted)
        text = render_skill_loaded(
            loaded.handle,
            loaded.instructions,
            files=[file.path for file in files if file.path != SKILL_FILE] if part == 1 else [],
            where=f"below {loaded.skill.directory}" if with_paths else "read one with read_skill_file",
            rest=f"part {part} of {loaded.parts}; go on with part={part + 1}" if part < loaded.parts else "",
        )
        present.ledger.record_skill(loaded.skill, text)
        return ToolResult(content=text)
