"""The default tools: search, load, read a file (seed 002 §3.2-3.4). Their texts are written for a model."""

from __future__ import annotations

import os
from typing import Annotated, Literal

from fastmcp import FastMCP
from fastmcp.tools.base import ToolResult
from fastmcp.tools.function_tool import FunctionTool
from mcp_types import ToolAnnotations
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from skillhub_mcp.hub import MAX_LIMIT, SkillHub
from skillhub_mcp.server.results import compact_json, file_json, loaded_json, search_result
from skillhub_mcp.server.sessions import Sessions
from skillhub_mcp.skills.roots import Source

_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
MAX_NAME_CHARACTERS = 256
MAX_QUERY_ARGUMENT = 4_000
MAX_PATH_CHARACTERS = 1_024
MAX_TAGS = 20
_MAX_OFFSET = 2**53

_SEARCH = (
    "Find expert instructions (skills) for a task. Call before any non-trivial task. Returns names, descriptions and "
    "scores, best first; from 0.5 on one fits: call load_skill with its name."
)
_LOAD = "Get a skill's instructions, then follow them. Read files they name with read_skill_file, or below `path`."
_READ = "Read a file that a loaded skill names. Binary files come as base64."

SkillName = Annotated[str, Field(max_length=MAX_NAME_CHARACTERS, description="Name from search_skills")]


def add_core_tools(server: FastMCP, hub: SkillHub, sessions: Sessions, *, with_paths: bool) -> None:
    """Register the three tools that every server offers; `with_paths` returns directories of this machine."""

    def search_skills(
        query: Annotated[str, Field(max_length=MAX_QUERY_ARGUMENT, description="The task in a few English words")],
        limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] | SkipJsonSchema[None] = None,
        category: Annotated[str, Field(max_length=MAX_NAME_CHARACTERS)] | SkipJsonSchema[None] = None,
        tags: Annotated[list[str], Field(max_length=MAX_TAGS)] | SkipJsonSchema[None] = None,
        source: Literal["project", "user", "hub", "builtin"] | SkipJsonSchema[None] = None,
        explain: bool = False,
    ) -> ToolResult:
        answer = hub.search(
            query,
            limit=limit,
            category=category,
            tags=tags or (),
            source=Source(source) if source else None,
            explain=explain,
        )
        wire = search_result(answer).model_dump(exclude_none=True)
        return ToolResult(content=compact_json(wire), structured_content=wire)

    tool = FunctionTool.from_function(
        search_skills, title="Search skills", description=_SEARCH, annotations=_READS, output_schema=_output_schema()
    )
    for argument in tool.parameters["properties"].values():
        if "default" in argument and argument["default"] is None:
            # That it may be left out is said by its not being required; saying it again costs every turn.
            del argument["default"]
    server.add_tool(tool)

    @server.tool(title="Load skill", description=_LOAD, annotations=_READS, output_schema=None)
    def load_skill(
        skill_name: SkillName,
        part: Annotated[int, Field(ge=1, description="For a body in parts: next_part")] = 1,
    ) -> ToolResult:
        present = sessions.current()
        loaded = hub.load(skill_name, part=part, granted=present.granted)
        text = loaded_json(loaded, with_path=with_paths)
        present.ledger.record_skill(loaded.skill, text)
        return ToolResult(content=text)

    @server.tool(title="Read skill file", description=_READ, annotations=_READS, output_schema=None)
    def read_skill_file(
        skill_name: SkillName,
        file_path: Annotated[
            str, Field(max_length=MAX_PATH_CHARACTERS, description="Relative to the skill, e.g. references/a.md")
        ],
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
            "category": {"type": "string"},
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
