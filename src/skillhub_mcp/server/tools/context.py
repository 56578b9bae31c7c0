"""The opt-in set `context`: seed 000's tools over `.agents/skills` of the project and of the user's home."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastmcp import FastMCP
from fastmcp.tools.base import ToolResult
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from skillhub_mcp.disclosure.context.catalogue import Catalogues
from skillhub_mcp.disclosure.context.inspection import inspect_context
from skillhub_mcp.disclosure.context.loader import already_loaded_notice, load_skill_context, select_skill
from skillhub_mcp.disclosure.context.schema import SkillMetadata, scope_source
from skillhub_mcp.disclosure.context.tiered_search import SearchLimits, tiered_search
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.events import Observer, UseEvent, observe
from skillhub_mcp.policy.access import Access
from skillhub_mcp.policy.rules import Action
from skillhub_mcp.server.middleware.sessions import Session, Sessions
from skillhub_mcp.server.tools.core import MAX_NAME_CHARACTERS, MAX_PATH_CHARACTERS, MAX_QUERY_ARGUMENT
from skillhub_mcp.server.tools.registration import offered
from skillhub_mcp.server.tools.results import compact_json

SKILL_META_KEY = "io.skillhub/skill"

_LIST = (
    "List every skill of the project and of the user. Call to see all there is; to find one for a task call "
    "skill_search. Returns `skills`, and `errors` for what could not be read. Load one with skill_load."
)
_SEARCH = (
    "Find skills, which are separate from those built into your host, by path, name, the beginning of a name, or "
    "words. Call before a non-trivial task. Returns `skills`, best first, each with its `reason`. Load one with "
    "skill_load, by its path where names repeat."
)
_LOAD = (
    "Call when a skill from skill_search fits, with its path or name; path wins. Returns its whole SKILL.md and the "
    "list of its files: follow it. What was loaded before and has not changed comes as a reminder: force=true gives it "
    "again."
)
_INSPECT = (
    "Call to see where the context went. Returns what was loaded in this session, what there is to load, and what each "
    "costs in tokens. What is listed as loaded need not be loaded again."
)

ContextPath = Annotated[str, Field(max_length=MAX_PATH_CHARACTERS)]


@dataclass(frozen=True, slots=True)
class ContextTools:
    """What the set works on. `agents_state` says what a session knows of AGENTS.md, where the set `agents` is on.

    `observer` hears of what is loaded.
    """

    catalogues: Catalogues
    access: Access
    sessions: Sessions
    limits: SearchLimits
    agents_state: Callable[[Session], object] | None
    observer: Observer


def add_context_tools(server: FastMCP, tools: ContextTools, *, with_paths: bool) -> None:
    """Register the set. Without `with_paths` the caller neither hears nor chooses a path of this machine."""
    catalogues, sessions = tools.catalogues, tools.sessions

    def told(skill: SkillMetadata) -> dict[str, object]:
        return skill.model_dump(exclude=None if with_paths else {"path", "dir"})

    @offered(server, title="List skills", description=_LIST)
    def skills_list(
        cwd: ContextPath | SkipJsonSchema[None] = None,
        force_reload: Annotated[bool, Field(description="Look again instead of answering from the last look")] = False,
    ) -> ToolResult:
        if cwd is not None and not with_paths:
            raise InvalidArgument("cwd", "cannot be chosen over HTTP", hint="leave it out")
        listing = catalogues.listing(cwd, force_reload=force_reload)
        errors = [
            {"path": error.path if with_paths else _place(error.path), "message": error.message}
            for error in listing.errors
        ]
        return ToolResult(content=compact_json({"skills": [told(skill) for skill in listing.shown], "errors": errors}))

    @offered(server, title="Search skills by name", description=_SEARCH)
    def skill_search(
        query: Annotated[str, Field(max_length=MAX_QUERY_ARGUMENT, description="A path, a name, or a few words")],
        limit: int | SkipJsonSchema[None] = None,
        scope: Literal["repo", "user"] | SkipJsonSchema[None] = None,
    ) -> ToolResult:
        listing = catalogues.listing()
        found = tiered_search(listing.shown, query, cwd=listing.cwd, limits=tools.limits, limit=limit, scope=scope)
        skills = [{**told(hit.skill), "reason": hit.reason, "score": round(hit.score, 4)} for hit in found.hits]
        answer = {"skills": skills, "count": found.count, "truncated": found.truncated}
        return ToolResult(content=compact_json(answer), structured_content=answer)

    @offered(server, title="Load skill by path", description=_LOAD)
    def skill_load(
        name: Annotated[str, Field(max_length=MAX_NAME_CHARACTERS)] | SkipJsonSchema[None] = None,
        path: ContextPath | SkipJsonSchema[None] = None,
        force: bool = False,
    ) -> ToolResult:
        listing = catalogues.listing()
        present = sessions.current()
        with observe(tools.observer, UseEvent(action="load", skill=path or name or "")) as use:
            skill = select_skill(listing, name=name, path=path, with_paths=with_paths)
            # Several may have the name: the path says which.
            use.skill, use.source, use.file_path = skill.name, scope_source(skill), skill.path
            tools.access.now(listing.root).check(listing.by_path[skill.path], Action.LOAD, present.granted)
            loaded = load_skill_context(skill, with_paths=with_paths)
            use.size = len(loaded.text)
        facts: dict[str, object] = {"skill_id": skill.id, "name": skill.name, "mtime_ms": loaded.mtime_ms}
        if with_paths:
            facts |= {"path": skill.path, "dir": skill.dir}
        before = present.ledger.last("skill", skill.path)
        if before is not None and before.mtime_ms == loaded.mtime_ms and not force:
            text = already_loaded_notice(skill, before, with_paths=with_paths)
            return ToolResult(content=text, meta={SKILL_META_KEY: {**facts, "already_loaded": True}})
        present.ledger.record("skill", skill.name, skill.path, loaded.text, mtime_ms=loaded.mtime_ms)
        # Beside the text and not instead of it: a client that shows its model the structured content hides the body.
        return sessions.signed(ToolResult(content=loaded.text, meta={SKILL_META_KEY: facts}))

    @offered(server, title="Inspect the context", description=_INSPECT)
    def context_inspect(include_skills: bool = True, include_agents: bool = True) -> ToolResult:
        present = sessions.current()
        answer: dict[str, Any] = inspect_context(
            catalogues if include_skills else None, present.ledger.entries(), with_paths=with_paths
        )
        if include_agents and tools.agents_state is not None:
            answer["agents"] = tools.agents_state(present)
        return sessions.signed(ToolResult(content=compact_json(answer), structured_content=answer))


def _place(path: str) -> str:
    """Return the end of a path, which says which skill is meant and not where it lies."""
    return os.path.join(os.path.basename(os.path.dirname(path)), os.path.basename(path))
