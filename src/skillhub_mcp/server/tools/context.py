"""The set `context`: the agent-context tools, over `.agents/skills` of the project and of the user's home."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from fastmcp.tools.base import ToolResult
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from skillhub_mcp.disclosure.context.catalogue import Catalogues, inspect_context, skill_id
from skillhub_mcp.disclosure.context.loader import already_loaded_notice, load_skill_context, select_skill, short_path
from skillhub_mcp.disclosure.context.schema import SkillLoadError, SkillMetadata, scope_source
from skillhub_mcp.disclosure.context.tiered_search import tiered_search
from skillhub_mcp.disclosure.hits import descriptions
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.events import UseEvent, observe
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.policy.hook_gate import SkillUse, pass_gate
from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.sanitize import all_for_model
from skillhub_mcp.server.middleware.sessions import Session, Sessions
from skillhub_mcp.server.tools.results import MAX_NAME_CHARACTERS, MAX_QUERY_ARGUMENT, Path, compact_json

SKILL_META_KEY = "io.skillhub/skill"

_PAGE = 50
_CURSOR = re.compile(r"([0-9]{1,9})\.([0-9a-f]{24})")


@dataclass(frozen=True, slots=True)
class ContextTools:
    """The tools over some catalogues. Without `with_paths` the client neither gets nor chooses paths of this machine.

    `agents_state` returns what a session knows of AGENTS.md. `with_core` says whether load_skill is offered too.
    """

    hub: SkillHub
    catalogues: Catalogues
    sessions: Sessions
    search_limit: int
    with_core: bool
    agents_state: Callable[[Session], object] | None
    with_paths: bool

    def skills_list(
        self,
        cwd: Path | SkipJsonSchema[None] = None,
        force_reload: Annotated[bool, Field(description="Look again instead of answering from the last look")] = False,
        cursor: Annotated[str, Field(max_length=64, description="If there are more: next_cursor")]
        | SkipJsonSchema[None] = None,
    ) -> ToolResult:
        if cwd is not None and not self.with_paths:
            raise InvalidArgument("cwd", "cannot be chosen over HTTP", hint="leave it out")
        listing = self.catalogues.listing(cwd, force_reload=force_reload)
        shown = listing.shown
        entries: list[SkillMetadata | SkillLoadError] = [*shown, *listing.errors]
        ids = [*(skill.id for skill in shown), *(skill_id(error.path) for error in listing.errors)]
        start = 0 if cursor is None else _start(cursor, ids)
        page, end = entries[start : start + _PAGE], start + _PAGE
        result: dict[str, object] = {
            "skills": [self._fields(one) for one in page if isinstance(one, SkillMetadata)],
            "errors": [self._error(one) for one in page if isinstance(one, SkillLoadError)],
        }
        if end < len(entries):
            result["next_cursor"] = f"{end}.{ids[end - 1]}"
        return ToolResult(content=compact_json(result))

    def skill_search(
        self,
        query: Annotated[str, Field(max_length=MAX_QUERY_ARGUMENT, description="A path, a name, or a few words")],
        limit: int | SkipJsonSchema[None] = None,
        scope: Literal["repo", "user"] | SkipJsonSchema[None] = None,
    ) -> ToolResult:
        listing = self.catalogues.listing()
        limit = self.search_limit if limit is None else limit
        found = tiered_search(listing.shown, query, cwd=listing.cwd, limit=limit, scope=scope)
        reported = descriptions([hit.skill.description for hit in found.hits])
        skills = [
            {**self._fields(hit.skill), "description": text, "reason": hit.reason, "score": round(hit.score, 4)}
            for hit, text in zip(found.hits, reported, strict=True)
        ]
        result = {"skills": skills, "count": found.count, "truncated": found.truncated}
        return ToolResult(content=compact_json(result), structured_content=result)

    def skill_load(
        self,
        name: Annotated[str, Field(max_length=MAX_NAME_CHARACTERS)] | SkipJsonSchema[None] = None,
        path: Path | SkipJsonSchema[None] = None,
        force: bool = False,
    ) -> ToolResult:
        session = self.sessions.current()
        elsewhere = self.hub.lookup.handle_named if self.with_core else lambda _: None
        with observe(self.hub.observer, UseEvent(action="load", skill=path or name or "")) as use:
            listing, skill = self.catalogues.select(
                lambda listing: select_skill(
                    listing, name=name, path=path, with_paths=self.with_paths, elsewhere=elsewhere
                )
            )
            # Several skills may have the name: the path tells which one it is.
            use.skill, use.source, use.file_path = skill.name, scope_source(skill), skill.path
            scanned = listing.by_path[skill.path]
            self.hub.access.now(listing.root).check(scanned, Action.LOAD, session.granted)
            pass_gate(SkillUse(scanned, skill.name, Action.LOAD))
            handle = self.hub.lookup.handle_of(skill.dir)
            text, status = load_skill_context(skill, with_paths=self.with_paths, handle=handle)
            use.size = len(text)
        mtime_ms, ctime_ns = status.st_mtime_ns / 1_000_000, status.st_ctime_ns
        facts: dict[str, object] = {"skill_id": skill.id, "name": skill.name, "mtime_ms": mtime_ms}
        if self.with_paths:
            facts |= {"path": skill.path, "dir": skill.dir}
        before = session.ledger.last("skill", skill.path)
        if before is not None and before.is_complete and before.is_of(mtime_ms, ctime_ns) and not force:
            notice = already_loaded_notice(skill, before, with_paths=self.with_paths)
            return ToolResult(content=notice, meta={SKILL_META_KEY: {**facts, "already_loaded": True}})
        session.ledger.record("skill", skill.name, skill.path, text, mtime_ms=mtime_ms, ctime_ns=ctime_ns)
        # In `meta`, beside the text: a client that shows its model the structured content would hide the body.
        return self.sessions.with_handle(ToolResult(content=text, meta={SKILL_META_KEY: facts}))

    def context_inspect(self, include_skills: bool = True, include_agents: bool = True) -> ToolResult:
        session = self.sessions.current()
        inspected = inspect_context(
            self.catalogues if include_skills else None, session.ledger.entries(), with_paths=self.with_paths
        )
        result = self._shown(inspected)
        if include_agents and self.agents_state is not None:
            result["agents"] = self.agents_state(session)
        return self.sessions.with_handle(ToolResult(content=compact_json(result), structured_content=result))

    def _fields(self, skill: SkillMetadata) -> dict[str, object]:
        return self._shown(skill.model_dump(exclude=None if self.with_paths else {"path", "dir"}))

    def _error(self, error: SkillLoadError) -> dict[str, object]:
        path = error.path if self.with_paths else short_path(error.path)
        return self._shown({"path": path, "message": error.message})

    @staticmethod
    def _shown(fields: Mapping[str, object]) -> dict[str, object]:
        return {key: all_for_model(value) for key, value in fields.items()}


def _start(cursor: str, ids: Sequence[str]) -> int:
    """Return where the page of a cursor starts: after the entry that the page before ended with, if it is still there.

    Raises InvalidArgument for a text that is no cursor.
    """
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise InvalidArgument("cursor", "is not a next_cursor of skills_list", hint="leave it out to begin")
    position, last = int(found[1]), found[2]
    return ids.index(last) + 1 if last in ids else position
