"""A client's first requests: the server's title and icon, its instructions, and the start of the hub.

The instructions have a budget of bytes: the rules of the tools, then the card and the lists of the sets `skill` and
`context`. A client's text never changes, so that its prompt cache stays valid. The hub starts after the client has its
list of tools, because loading the index delays answers.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import anyio
import anyio.to_thread
import mcp_types
from fastmcp.server.middleware import Middleware
from fastmcp.server.providers import Provider
from fastmcp.tools.base import Tool
from mcp_types import SERVER_INFO_META_KEY, Icon, Implementation

from skillhub_mcp.disclosure.card import CardContext, render_card
from skillhub_mcp.disclosure.catalogue import (
    Budget,
    Catalogue,
    CatalogueEntry,
    Rendered,
    fit,
    render_codelia,
    render_descriptions,
)
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.sanitize import path_for_model
from skillhub_mcp.server.middleware.client_project import offers_roots
from skillhub_mcp.server.middleware_types import Discover, Initialize, ListTools, Next
from skillhub_mcp.server.options import ServerOptions
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.roots import Source

log = logging.getLogger(__name__)

TITLE = "SkillHub: expert skills for agents"

# A hub, and three skills around it.
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">'
    '<path d="M12 12 5 5M12 12 19 5M12 12v8" stroke="#2b7a78" stroke-width="2"/>'
    '<g fill="#17252a"><circle cx="12" cy="12" r="4"/><circle cx="5" cy="5" r="3"/>'
    '<circle cx="19" cy="5" r="3"/><circle cx="12" cy="20" r="3"/></g></svg>'
)
_MEDIA_TYPE = "image/svg+xml"
# The answer to tools/list is written before the index begins to load.
_AFTER_LISTING_SECONDS = 0.05

CORE = (
    "SkillHub holds expert instructions (skills), separate from any built into your host. Before a non-trivial task "
    "call search_skills; if one fits, load_skill it and follow it; read_skill_file only the files it names."
)
CONTEXT = (
    "Skills of this project and of the person's home: find one with skill_search, load it with skill_load, follow it."
)
SKILL = "Skills are expert knowledge: as soon as a task fits one of these, call Skill with its name."

_MAX_BYTES = 2_048
_SEPARATOR = "\n\n"
# A library that takes longer to read is described by its tools alone.
_TIMEOUT_SECONDS = 1.0


class Introduction(Middleware):
    """Introduces one server to each client, and starts the hub shortly after a client has the list of tools.

    The skills are read when the first client connects. `rules` are the instructions without any skill.
    """

    def __init__(self, hub: SkillHub, options: ServerOptions) -> None:
        self._hub = hub
        self._options = options
        self._catalogues = options.catalogues
        self._timer: asyncio.TimerHandle | None = None
        self.rules = _rules(options.tools)

    def schedule(self, seconds: float) -> None:
        """Start in `seconds`, instead of at the time scheduled before."""
        self.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._hub.start)

    def cancel(self) -> None:
        """Do not start."""
        if self._timer is not None:
            self._timer.cancel()

    async def on_list_tools(self, context: ListTools, call_next: Next) -> Sequence[Tool]:
        client = context.fastmcp_context
        # The tools without FastMCP's visibility rules of a session, whose store takes 0.1 s to import.
        tools = await call_next(context) if client is None else await Provider.list_tools(client.fastmcp)
        self.schedule(_AFTER_LISTING_SECONDS)
        return tools

    async def on_initialize(self, context: Initialize, call_next: Next) -> mcp_types.InitializeResult | None:
        # A client with roots names its project later.
        later = self._options.client is not None and offers_roots(context.message)
        text = await self._write(self.rules if later else self._opening())
        result: mcp_types.InitializeResult | None = await call_next(context)
        return result and result.model_copy(
            update={"instructions": text, "server_info": _described(result.server_info)}
        )

    async def on_discover(self, context: Discover, call_next: Next) -> Any:
        text = await self._write(self._opening())
        result = await call_next(context)
        if not isinstance(result, mcp_types.DiscoverResult):
            return result
        meta = dict(result.meta or {})
        plain = Implementation.model_validate(meta[SERVER_INFO_META_KEY])
        meta[SERVER_INFO_META_KEY] = _described(plain).model_dump(mode="json", by_alias=True, exclude_none=True)
        return result.model_copy(update={"instructions": text, "meta": meta})

    def _opening(self) -> str:
        """Return the rules and the project."""
        if self._hub.project is None or not self._options.expose_paths:
            return self.rules
        project = self._hub.project()
        named = path_for_model(project.root) if project.exists else "none; SKILLHUB_CWD names one"
        return _joined(self.rules, f"Project: {named}")

    async def _write(self, opening: str) -> str:
        """Return the text for the current client: the opening alone if the skills are not available in time."""
        if self._options.card == "off" or not (self._promises_a_list or "core" in self._options.tools):
            return opening
        timeout = None if self._promises_a_list else _TIMEOUT_SECONDS
        with anyio.move_on_after(timeout):
            try:
                # The thread has this request's context, so the hub knows the caller there.
                text = await anyio.to_thread.run_sync(self._lists, _left(_MAX_BYTES, opening), abandon_on_cancel=True)
                return _joined(opening, text)
            except SkillHubError as error:
                # The tools report the same error when called; a client can connect nevertheless.
                log.warning("The instructions name no skills: %s", error.message)
                return opening
        log.debug("The instructions name no skills: they are still being read")
        return opening

    @property
    def _promises_a_list(self) -> bool:
        # A promised list is delivered however long it takes to read the skills.
        return "skill" in self._options.tools or self._catalogues is not None

    def _lists(self, max_bytes: int) -> str:
        """Return the lists of skills, or the list and the card, of the tool sets."""
        entries = {} if self._catalogues is None else self._context_entries()
        if "skill" in self._options.tools:
            # It has every skill, so there is no card.
            names = [self._shown(entry) for entry in self._hub.catalogue()]
            budget = Budget(max_bytes=max_bytes // 2 if entries else max_bytes)
            named = fit(names, budget, _available, search_tool=self._search_tool).text
            return _joined(named, _context_list(entries.values(), _left(max_bytes, named)).text)
        if "core" not in self._options.tools:
            return _context_list(entries.values(), max_bytes).text
        skills, context = self._card()
        # The list has those first that the card cannot have, and the card those that the list has not.
        carded = {skill.directory for skill in skills}
        ranked = [replace(entry, importance=(directory in carded,)) for directory, entry in entries.items()]
        written = _context_list(ranked, max_bytes // 2)
        listed = {entry.path for entry in written.catalogue.entries}
        on_card = [one for one in skills if one.directory not in entries or entries[one.directory].path not in listed]
        text = written.text if listed else ""
        return _joined(text, render_card(on_card, context, max_bytes=_left(max_bytes, text)))

    def _card(self) -> tuple[list[Skill], CardContext]:
        """Return the skills that a card may describe, and what it depends on besides."""
        from skillhub_mcp.disclosure.card import project_keywords

        snapshot, policy = self._hub.snapshot_and_policy()
        project = self._options.card_project()
        offered = [skill for skill in Names(snapshot, policy).findable() if not skill.disable_model_invocation]
        skills = [skill for skill in offered if not skill.awaits_trust]
        return skills, CardContext(
            project_skills={skill.directory for skill in skills if snapshot.source(skill) is Source.PROJECT},
            keywords=project_keywords(project) if project else frozenset(),
            names_only=self._options.card == "names",
            awaiting=len(offered) - len(skills),
        )

    def _context_entries(self) -> dict[str, CatalogueEntry]:
        """Return the entries of the agent-context tools' catalogue, by directory."""
        from skillhub_mcp.disclosure.context.catalogue import context_entries

        assert self._catalogues is not None  # noqa: S101 - for the type checker
        listing = self._catalogues.listing()
        entries = context_entries(listing, with_paths=self._options.expose_paths)
        return {skill.dir: self._shown(entry) for skill, entry in zip(listing.initial, entries, strict=True)}

    def _shown(self, entry: CatalogueEntry) -> CatalogueEntry:
        return replace(entry, description="") if self._options.card == "names" else entry

    @property
    def _search_tool(self) -> str:
        sets = self._options.tools
        return "search_skills" if "core" in sets else "skill_search" if "context" in sets else "Skill by name"


def _described(plain: Implementation) -> Implementation:
    encoded = base64.b64encode(_ICON.encode()).decode()
    icon = Icon(src=f"data:{_MEDIA_TYPE};base64,{encoded}", mime_type=_MEDIA_TYPE, sizes=["any"])
    return plain.model_copy(update={"title": TITLE, "icons": [icon]})


def _rules(sets: Sequence[str]) -> str:
    """Return the rules for the tools of those sets."""
    parts = [text for name, text in (("core", CORE), ("context", CONTEXT), ("skill", SKILL)) if name in sets]
    if "agents" in sets:
        from skillhub_mcp.agents_md.reminders import PROMPT_RULES

        parts.append("\n".join(f"- {rule}" for rule in PROMPT_RULES))
    return _joined(*parts)


def _joined(*texts: str) -> str:
    return _SEPARATOR.join(filter(None, texts))


def _left(max_bytes: int, text: str) -> int:
    """Return how many bytes a text, with a separator after it, leaves."""
    return max_bytes - len(text.encode("utf-8", "replace")) - len(_SEPARATOR) if text else max_bytes


def _context_list(entries: Iterable[CatalogueEntry], max_bytes: int) -> Rendered:
    budget = Budget(max_bytes=max_bytes)
    return fit(list(entries), budget, render_codelia, search_tool="skill_search", load_tool="skill_load")


def _available(catalogue: Catalogue) -> str:
    return f"Available:\n{render_descriptions(catalogue)}"
