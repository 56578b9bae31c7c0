"""The set `registry`: the index of the skills' frontmatter, its report, and the list that a model is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import anyio.to_thread
from fastmcp.tools.base import ToolResult
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from skillhub_mcp.disclosure.catalogue import AVAILABLE_SKILLS, render_available_skills
from skillhub_mcp.disclosure.registry_json import entries_json, report_json
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index.writer import SyncDepth
from skillhub_mcp.sanitize import all_for_model
from skillhub_mcp.server.progress import ProgressReporter, run_with_progress
from skillhub_mcp.server.tools.results import Path, SourceName, compact_json
from skillhub_mcp.skills.admission import Admission
from skillhub_mcp.skills.registry import RegistryIndex
from skillhub_mcp.skills.roots import Source

_DEFAULT_LIMIT = 200
_MAX_LIMIT = 2_000
_MAX_CHANGES = 1_000
_MAX_PLACES = 50

AdmissionMode = Annotated[
    Literal["strict", "lenient"], Field(description="lenient also takes skills without a description")
]
Changes = Annotated[list[Path], Field(max_length=_MAX_CHANGES, description="Paths that changed")]
Limit = Annotated[int, Field(ge=1, le=_MAX_LIMIT)]
Offset = Annotated[int, Field(ge=0, description="If there are more: next_offset")]


@dataclass(frozen=True, slots=True)
class RegistryTools:
    """The tools of one hub. `admission(lenient)` returns which skills each mode admits.

    With `with_paths` they return paths of this machine.
    """

    hub: SkillHub
    admission: Callable[[bool], Admission]
    with_paths: bool

    async def build_index(
        self,
        mode: AdmissionMode = "strict",
        source: SourceName | SkipJsonSchema[None] = None,
        limit: Limit = _DEFAULT_LIMIT,
        offset: Offset = 0,
    ) -> ToolResult:
        await self._refresh(lambda: self.hub.refresh(SyncDepth.VERIFY))
        return await anyio.to_thread.run_sync(lambda: self._result(mode, source, limit, offset))

    async def refresh_index(
        self,
        changes: Changes | SkipJsonSchema[None] = None,
        mode: AdmissionMode = "strict",
        source: SourceName | SkipJsonSchema[None] = None,
        limit: Limit = _DEFAULT_LIMIT,
        offset: Offset = 0,
    ) -> ToolResult:
        await self._refresh(lambda: self.hub.refresh(only=changes or None))
        return await anyio.to_thread.run_sync(lambda: self._result(mode, source, limit, offset))

    def available_skills(
        self,
        mode: AdmissionMode = "strict",
        source: SourceName | SkipJsonSchema[None] = None,
        limit: Limit = _DEFAULT_LIMIT,
        offset: Offset = 0,
    ) -> ToolResult:
        index = self._index(mode, source)
        entries = index.for_models
        page = entries[offset : offset + limit]
        if entries and not page:
            return ToolResult(content=f"{AVAILABLE_SKILLS} (none from offset={offset} on, of {len(entries):,})")
        text = render_available_skills((entry.name, entry.source.value, entry.description) for entry in page)
        more = len(entries) - offset - len(page)
        if more > 0:
            return ToolResult(content=f"{text}\n({more:,} more: offset={offset + limit})")
        awaiting = sum(entry.awaits_trust for entry in index.skills)
        note = f"\n({awaiting:,} not listed: their project awaits trust, `skillhub trust`)"
        return ToolResult(content=text + note if awaiting else text)

    async def _refresh(self, refresh: Callable[[], object]) -> None:
        progress = ProgressReporter()
        await run_with_progress(refresh, lambda: progress.report_steps(self.hub.views.progress))

    def _index(self, mode: str, source: str | None) -> RegistryIndex:
        admission = self.admission(mode == "lenient")
        return self.hub.registry_index(admission, source=None if source is None else Source(source))

    def _result(self, mode: str, source: str | None, limit: int, offset: int) -> ToolResult:
        index = self._index(mode, source)
        page = index.skills[offset : offset + limit]
        skills = entries_json(page, with_paths=self.with_paths)
        result: dict[str, object] = {"skills": skills}
        if offset + limit < len(index.skills):
            result |= {"total": len(index.skills), "next_offset": offset + limit}
        elif index.skills and not page:
            result["total"] = len(index.skills)
        result["report"] = report_json(index.report, with_paths=self.with_paths, max_places=_MAX_PLACES)
        return ToolResult(content=compact_json(all_for_model(result)))
