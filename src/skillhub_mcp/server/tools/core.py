"""The set `core`: the tools that search and load skills and read their files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import anyio.to_thread
from fastmcp.tools.base import ToolResult
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from skillhub_mcp.disclosure.ledger import Piece
from skillhub_mcp.hub import MAX_LIMIT, SkillHub
from skillhub_mcp.server.middleware.sessions import Sessions
from skillhub_mcp.server.progress import ProgressReporter, run_with_progress
from skillhub_mcp.server.tools.results import (
    MAX_NAME_CHARACTERS,
    MAX_PATH_CHARACTERS,
    MAX_QUERY_ARGUMENT,
    MAX_TAGS,
    QUERY,
    SkillName,
    SourceName,
    compact_json,
    file_json,
    loaded_json,
    lock_meta,
    search_result,
)
from skillhub_mcp.skills.discovery import skill_path
from skillhub_mcp.skills.model import Skill, sentences
from skillhub_mcp.skills.roots import Source

_MAX_OFFSET = 2**53


@dataclass(frozen=True, slots=True)
class CoreTools:
    """The tools of one hub. With `with_paths` they return directories of this machine.

    `base_uri` returns the URI of a skill's files as resources, for a skill that is published.
    """

    hub: SkillHub
    sessions: Sessions
    base_uri: Callable[[Skill], str | None]
    with_paths: bool

    async def search_skills(
        self,
        query: Annotated[str, Field(max_length=MAX_QUERY_ARGUMENT, description=QUERY)],
        limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] | SkipJsonSchema[None] = None,
        category: Annotated[str, Field(max_length=MAX_NAME_CHARACTERS)] | SkipJsonSchema[None] = None,
        tags: Annotated[list[str], Field(max_length=MAX_TAGS)] | SkipJsonSchema[None] = None,
        source: SourceName | SkipJsonSchema[None] = None,
        explain: bool = False,
    ) -> ToolResult:
        own = Source(source) if source else None

        def search() -> dict[str, object]:
            answer = self.hub.search(
                query, limit=limit, category=category, tags=tags or (), source=own, explain=explain
            )
            if answer.searched:
                # Who asks for a number or for reasons gets every hit.
                asked = None if answer.hits or not self.with_paths else self.hub.project
                no_project = asked is not None and not asked().exists
                return search_result(
                    answer, every=explain or limit is not None, no_project=no_project, audited=self.hub.audited
                )
            absence = self.hub.why_nothing(category=category, tags=tags or (), source=own)
            return search_result(answer, causes=sentences(absence.causes, with_paths=self.with_paths))

        view = self.hub.views.peek()
        if view is None or view.index is None:
            progress = ProgressReporter()
            result = await run_with_progress(search, lambda: progress.report_steps(self.hub.views.progress))
        else:
            # It may wait for a provider of embeddings, whose requests have a timeout of their own.
            result = await anyio.to_thread.run_sync(search, abandon_on_cancel=True)
        return ToolResult(content=compact_json(result), structured_content=result)

    def load_skill(
        self, skill_name: SkillName, part: Annotated[int, Field(ge=1, description="For a body in parts: next_part")] = 1
    ) -> ToolResult:
        session = self.sessions.current()
        loaded = self.hub.load(skill_name, part=part, granted=session.granted)
        if part > 1:
            session.ledger.check_goes_on("skill", skill_path(loaded.skill), loaded.digest, argument="part", first=1)
        text = loaded_json(loaded, uri=self.base_uri(loaded.skill), with_path=self.with_paths)
        session.ledger.record_skill(loaded.skill, text, part=part, parts=loaded.parts, digest=loaded.digest)
        return ToolResult(
            content=text,
            meta=lock_meta(next(iter(self.hub.lock_standings([loaded.skill]))), with_paths=self.with_paths),
        )

    def read_skill_file(
        self,
        skill_name: SkillName,
        file_path: Annotated[str, Field(max_length=MAX_PATH_CHARACTERS, description="E.g. references/a.md")],
        offset: Annotated[int, Field(ge=0, le=_MAX_OFFSET, description="If truncated: next_offset")] = 0,
    ) -> ToolResult:
        session = self.sessions.current()
        skill, content = self.hub.reader.read_file(skill_name, file_path, offset=offset, granted=session.granted)
        text = file_json(content)
        key = os.path.join(skill.directory, file_path)
        if offset > 0:
            session.ledger.check_goes_on("file", key, content.digest, argument="offset", first=0)
        end = content.size if content.next_offset is None else content.next_offset
        piece = Piece(content.offset, end, content.size)
        session.ledger.record("file", f"{skill.name}/{file_path}", key, text, piece=piece, digest=content.digest)
        return ToolResult(content=text)
