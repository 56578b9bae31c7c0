"""The opt-in set `registry`: seed 003's index, its report, and the list that a model is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import anyio.to_thread
from fastmcp import FastMCP
from fastmcp.tools.base import ToolResult
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from skillhub_mcp.disclosure.available_skills import render_available_skills
from skillhub_mcp.disclosure.registry_json import entries_json, report_json
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index.sync import SyncDepth
from skillhub_mcp.server.progress import ProgressReporter, run_with_progress
from skillhub_mcp.server.tools.core import MAX_PATH_CHARACTERS
from skillhub_mcp.server.tools.registration import offered
from skillhub_mcp.server.tools.results import compact_json
from skillhub_mcp.skills.admission import Admission
from skillhub_mcp.skills.registry_index import RegistryIndex
from skillhub_mcp.skills.roots import Source

_DEFAULT_LIMIT = 200
_MAX_LIMIT = 2_000
_MAX_CHANGES = 1_000
_REPORTED_PLACES = 50

_BUILD = (
    "Call to fill a registry of your own; to find a skill for a task call search_skills. Reads every skill's "
    "frontmatter anew. Returns {skills, report}: name, description, source, controls and meta of each skill, and what "
    "was found, refused and shadowed, with a digest. Next time call refresh_index."
)
_REFRESH = (
    "Call when skills are new, changed or removed, with their paths as `changes` if known. Returns {skills, report}, "
    "as build_index does, to take the place of the old."
)
_AVAILABLE = (
    "Call to see which skills are available here, separate from those built into your host. Returns a line for each: "
    "name, source, description. Load one with load_skill."
)

AdmissionMode = Annotated[
    Literal["strict", "lenient"], Field(description="lenient also takes skills without a description")
]
SourceName = Literal["project", "user", "hub", "builtin"]
Changes = Annotated[
    list[Annotated[str, Field(max_length=MAX_PATH_CHARACTERS)]],
    Field(max_length=_MAX_CHANGES, description="Paths that changed"),
]
Limit = Annotated[int, Field(ge=1, le=_MAX_LIMIT)]
Offset = Annotated[int, Field(ge=0, description="If there are more: next_offset")]


def add_registry_tools(
    server: FastMCP, hub: SkillHub, *, admission: Callable[[bool], Admission], with_paths: bool
) -> None:
    """Register the set. `admission(lenient)` says whom each mode takes; `with_paths` returns paths of this machine."""

    def indexed(mode: str, source: str | None) -> RegistryIndex:
        return hub.registry_index(admission(mode == "lenient"), source=None if source is None else Source(source))

    def told(index: RegistryIndex, limit: int, offset: int) -> ToolResult:
        part = index.skills[offset : offset + limit]
        answer: dict[str, object] = {"skills": entries_json(part, with_paths=with_paths)}
        if offset + limit < len(index.skills):
            answer |= {"total": len(index.skills), "next_offset": offset + limit}
        answer["report"] = report_json(index.report, with_paths=with_paths, max_places=_REPORTED_PLACES)
        return ToolResult(content=compact_json(answer))

    async def looked(look: Callable[[], object]) -> None:
        progress = ProgressReporter()
        await run_with_progress(look, lambda: progress.tell_steps(hub.index_progress))

    @offered(server, title="Build the skill index", description=_BUILD)
    async def build_index(
        mode: AdmissionMode = "strict",
        source: SourceName | SkipJsonSchema[None] = None,
        limit: Limit = _DEFAULT_LIMIT,
        offset: Offset = 0,
    ) -> ToolResult:
        await looked(lambda: hub.refresh(SyncDepth.VERIFY))
        return await anyio.to_thread.run_sync(lambda: told(indexed(mode, source), limit, offset))

    @offered(server, title="Refresh the skill index", description=_REFRESH)
    async def refresh_index(
        changes: Changes | SkipJsonSchema[None] = None,
        mode: AdmissionMode = "strict",
        source: SourceName | SkipJsonSchema[None] = None,
        limit: Limit = _DEFAULT_LIMIT,
        offset: Offset = 0,
    ) -> ToolResult:
        await looked(lambda: hub.refresh(only=changes or None))
        return await anyio.to_thread.run_sync(lambda: told(indexed(mode, source), limit, offset))

    @offered(server, name="available_skills", title="Available skills", description=_AVAILABLE)
    def list_available(
        mode: AdmissionMode = "strict",
        source: SourceName | SkipJsonSchema[None] = None,
        limit: Limit = _DEFAULT_LIMIT,
        offset: Offset = 0,
    ) -> ToolResult:
        shown = [entry for entry in indexed(mode, source).skills if not entry.controls.disable_model_invocation]
        part = shown[offset : offset + limit]
        text = render_available_skills((entry.name, entry.source.value, entry.description) for entry in part)
        more = len(shown) - offset - len(part)
        return ToolResult(content=f"{text}\n({more:,} more: offset={offset + limit})" if more > 0 else text)
