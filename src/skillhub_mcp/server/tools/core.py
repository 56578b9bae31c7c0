"""The default tools: search, load, read a file (seed 002 §3.2-3.4). Their texts are written for a model."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated, Literal

import anyio.to_thread
from fastmcp import FastMCP
from fastmcp.tools.base import ToolResult
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from skillhub_mcp.hub import MAX_LIMIT, SkillHub
from skillhub_mcp.server.middleware.sessions import Sessions
from skillhub_mcp.server.progress import ProgressReporter, wait_until_searchable
from skillhub_mcp.server.tools.registration import ALWAYS_LOAD, offered
from skillhub_mcp.server.tools.results import compact_json, file_json, loaded_json, search_result
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.roots import Source

MAX_NAME_CHARACTERS = 256
MAX_QUERY_ARGUMENT = 4_000
MAX_PATH_CHARACTERS = 1_024
MAX_TAGS = 20
_MAX_OFFSET = 2**53

_SEARCH = (
    "Find expert instructions (skills) for a task; those built into your host are separate. Call before any "
    "non-trivial task. Returns names, descriptions, scores, best first; from 0.5 on one fits: call load_skill with its "
    "name. Else go on without."
)
_LOAD = (
    "Call when a skill fits, or the person names one. Returns its `instructions`: follow them. Read files they name "
    "below `path` or with read_skill_file."
)
_READ = "Call when a loaded skill names a file. Returns `content`, base64 if binary. Then go on as it says."

SkillName = Annotated[str, Field(max_length=MAX_NAME_CHARACTERS, description="Name from search_skills")]


def add_core_tools(
    server: FastMCP, hub: SkillHub, sessions: Sessions, *, base_uri: Callable[[Skill], str | None], with_paths: bool
) -> None:
    """Register the three tools that every server offers; `with_paths` returns directories of this machine.

    `base_uri` says where a skill's files are as resources.
    """

    @offered(
        server,
        title="Search skills",
        description=_SEARCH,
        output_schema=_output_schema(),
        meta=ALWAYS_LOAD,
    )
    async def search_skills(
        query: Annotated[str, Field(max_length=MAX_QUERY_ARGUMENT, description="The task in a few English words")],
        limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] | SkipJsonSchema[None] = None,
        category: Annotated[str, Field(max_length=MAX_NAME_CHARACTERS)] | SkipJsonSchema[None] = None,
        tags: Annotated[list[str], Field(max_length=MAX_TAGS)] | SkipJsonSchema[None] = None,
        source: Literal["project", "user", "hub", "builtin"] | SkipJsonSchema[None] = None,
        explain: bool = False,
    ) -> ToolResult:
        await wait_until_searchable(hub, query, ProgressReporter())
        answer = await anyio.to_thread.run_sync(
            lambda: hub.search(
                query,
                limit=limit,
                category=category,
                tags=tags or (),
                source=Source(source) if source else None,
                explain=explain,
            ),
            # A provider that it waits for has a deadline of its own.
            abandon_on_cancel=True,
        )
        wire = search_result(answer)
        return ToolResult(content=compact_json(wire), structured_content=wire)

    @offered(server, title="Load skill", description=_LOAD)
    def load_skill(
        skill_name: SkillName,
        part: Annotated[int, Field(ge=1, description="For a body in parts: next_part")] = 1,
    ) -> ToolResult:
        present = sessions.current()
        loaded = hub.load(skill_name, part=part, granted=present.granted)
        text = loaded_json(loaded, uri=base_uri(loaded.skill), with_path=with_paths)
        present.ledger.record_skill(loaded.skill, text)
        return ToolResult(content=text)

    @offered(server, title="Read skill file", description=_READ)
    def read_skill_file(
        skill_name: SkillName,
        file_path: Annotated[str, Field(max_length=MAX_PATH_CHARACTERS, description="E.g. references/a.md")],
        offset: Annotated[int, Field(ge=0, le=_MAX_OFFSET, description="If truncated: next_offset")] = 0,
    ) -> ToolResult:
        present = sessions.current()
        text = file_json(hub.read_file(skill_name, file_path, offset=offset, granted=present.granted))
        skill = hub.known(skill_name)
        present.ledger.record("file", f"{skill.name}/{file_path}", os.path.join(skill.directory, file_path), text)
        return ToolResult(content=text)


def _output_schema() -> dict[str, object]:
    """The schema of a search's result without what a client does not need: titles cost every turn."""
    skill = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "description": {"type": "string"},
            "score": {"type": "number"},
        },
        "required": ["name", "description", "score"],
    }
    return {
        "type": "object",
        "properties": {
            "skills": {"type": "array", "items": skill},
            "confident": {"type": "boolean"},
            "note": {"type": "string"},
        },
        "required": ["skills"],
    }
