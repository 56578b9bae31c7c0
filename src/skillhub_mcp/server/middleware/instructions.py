"""The server's instructions, which a client's model reads before its first call, within a budget of bytes.

1. The rules of the tools come first. The rest is shared by the card and the lists of the sets `skill` and
   `context`; the card leaves out skills that a list has.
2. Each client has its own text, written when it connects, of the skills that it may use. The text never changes
   afterwards, so that the client's prompt cache stays valid.
3. A card that is late is left out: a client waits for it only a moment.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timezone
from typing import TYPE_CHECKING, Any, Literal

import anyio
import anyio.to_thread
import mcp_types
from fastmcp import FastMCP
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext

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
from skillhub_mcp.server.middleware.sessions import Transport
from skillhub_mcp.skills.roots import Source

if TYPE_CHECKING:
    from skillhub_mcp.disclosure.context.catalogue import Catalogues

log = logging.getLogger(__name__)

CORE = (
    "SkillHub holds expert instructions (skills), separate from any built into your host. Before a non-trivial task "
    "call search_skills; if one fits, load_skill it and follow it; read_skill_file only the files it names."
)
CONTEXT = (
    "Skills of this project and of the person's home: find one with skill_search, load it with skill_load, follow it."
)
SKILL = "Skills are expert knowledge: as soon as a task fits one of these, call Skill with its name."
_AVAILABLE = "Available:"
_SEPARATOR = "\n\n"

# Ten thousand skills are read in less time; a library that takes longer is described by its tools alone. A server
# over HTTP is started once for many clients, and reads while it loads its index.
_TIMEOUT_SECONDS: dict[Transport, float] = {"stdio": 1.0, "http": 3.0}
# Threads whose request has timed out must not block those of others.
_MAX_THREADS = 4


@dataclass(frozen=True, slots=True)
class CardOptions:
    """How much of each skill the instructions show, and what selects the skills.

    `project` is the directory whose files tell which skills fit, or empty; `used_before` returns the names of the
    skills that were loaded before a day.
    """

    kind: Literal["off", "names", "full"]
    project: str
    used_before: Callable[[date], Collection[str]]


@dataclass(frozen=True, slots=True)
class InstructionOptions:
    """The tool sets that the text describes, and its size. `catalogues` are those of the agent-context tools."""

    transport: Transport
    tools: Sequence[str]
    max_bytes: int
    catalogues: Catalogues | None
    with_paths: bool
    card: CardOptions


class ServerInstructions(Middleware):
    """Writes the instructions of one server, for each client. The skills are read when the first client connects."""

    def __init__(
        self,
        server: FastMCP,
        hub: SkillHub,
        options: InstructionOptions,
        *,
        today: Callable[[], date] = lambda: datetime.now(timezone.utc).date(),
    ) -> None:
        self._hub = hub
        self._options = options
        self._today = today
        self._threads: anyio.CapacityLimiter | None = None
        self._rules = _rules(options.tools)
        server.instructions = self._rules
        if options.card.kind != "off" and self._lists():
            server.add_middleware(self)

    async def on_initialize(
        self,
        context: MiddlewareContext[mcp_types.InitializeRequest],
        call_next: CallNext[mcp_types.InitializeRequest, mcp_types.InitializeResult | None],
    ) -> mcp_types.InitializeResult | None:
        text = await self._write()
        result = await call_next(context)
        return result and result.model_copy(update={"instructions": text})

    async def on_discover(
        self,
        context: MiddlewareContext[mcp_types.DiscoverRequest],
        call_next: CallNext[mcp_types.DiscoverRequest, Any],
    ) -> Any:
        text = await self._write()
        result = await call_next(context)
        if not isinstance(result, mcp_types.DiscoverResult):
            return result
        return result.model_copy(update={"instructions": text})

    async def _write(self) -> str:
        """Return the text for the current client, which is the rules alone if the skills are not available in time."""
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(_MAX_THREADS)
        timeout = None if self._promises_a_list else _TIMEOUT_SECONDS[self._options.transport]
        with anyio.move_on_after(timeout):
            try:
                # The thread has this request's context, so the hub knows the caller there.
                return await anyio.to_thread.run_sync(self._text, abandon_on_cancel=True, limiter=self._threads)
            except SkillHubError as error:
                # The tools report the same error when called; a client can connect nevertheless.
                log.warning("The instructions name no skills: %s", error.message)
                return self._rules
        log.debug("The instructions name no skills: they are still being read")
        return self._rules

    def _text(self) -> str:
        text = self._rules
        lists = self._lists()
        for number, write in enumerate(lists):
            # Each list may use an equal share of the rest; what it leaves over goes to the next.
            left = (self._options.max_bytes - len(text.encode())) // (len(lists) - number) - len(_SEPARATOR)
            part = write(left) if left > 0 else ""
            text += f"{_SEPARATOR}{part}" if part else ""
        return text

    @property
    def _promises_a_list(self) -> bool:
        # A promised list is delivered however long it takes to read the skills.
        return "skill" in self._options.tools or self._options.catalogues is not None

    def _lists(self) -> list[Callable[[int], str]]:
        """Return the functions that write each list of skills within a number of bytes."""
        lists: list[Callable[[int], str]] = []
        every_skill = "skill" in self._options.tools
        if every_skill:
            lists.append(lambda left: self._name_list(left).text)
        if self._options.catalogues is not None:
            lists.append(lambda left: self._context_list(left).text)
        if "core" in self._options.tools and not every_skill:
            lists.append(self._card)
        return lists

    def _card(self, max_bytes: int) -> str:
        from skillhub_mcp.disclosure.card import CardContext, render_card
        from skillhub_mcp.disclosure.project_match import project_keywords

        snapshot, policy = self._hub.snapshot_and_policy()
        catalogues = self._options.catalogues
        listed = () if catalogues is None else {skill.dir for skill in catalogues.listing().shown}
        skills = [
            skill
            for skill in snapshot.skills
            if policy.offers(skill) and not skill.disable_model_invocation and skill.directory not in listed
        ]
        day = self._today()
        context = CardContext(
            day=day,
            project_skills={skill.directory for skill in skills if snapshot.source(skill) is Source.PROJECT},
            keywords=project_keywords(self._options.card.project) if self._options.card.project else frozenset(),
            used_skills=self._options.card.used_before(day),
            names_only=self._options.card.kind == "names",
        )
        return render_card(skills, context, max_bytes=max_bytes)

    def _name_list(self, max_bytes: int) -> Rendered:
        """Return the list of the Skill tool: every skill that a model may choose, by name."""
        entries = self._shown(self._hub.catalogue())
        return fit(entries, Budget(max_bytes=max_bytes), _available, search_tool=self._search_tool)

    def _context_list(self, max_bytes: int) -> Rendered:
        """Return the catalogue of the agent-context tools, as far as there is room."""
        from skillhub_mcp.disclosure.context.catalogue import context_entries

        assert self._options.catalogues is not None  # noqa: S101 - for the type checker
        entries = self._shown(context_entries(self._options.catalogues.listing(), with_paths=self._options.with_paths))
        return fit(
            entries, Budget(max_bytes=max_bytes), render_codelia, search_tool="skill_search", load_tool="skill_load"
        )

    def _shown(self, entries: Sequence[CatalogueEntry]) -> Sequence[CatalogueEntry]:
        if self._options.card.kind == "names":
            return [replace(entry, description="") for entry in entries]
        return entries

    @property
    def _search_tool(self) -> str:
        sets = self._options.tools
        return "search_skills" if "core" in sets else "skill_search" if "context" in sets else "Skill by name"


def _rules(sets: Sequence[str]) -> str:
    """Return the rules for the tools of those sets."""
    parts = [text for name, text in (("core", CORE), ("context", CONTEXT), ("skill", SKILL)) if name in sets]
    if "agents" in sets:
        from skillhub_mcp.agents_md.reminders import PROMPT_RULES

        parts.append("\n".join(f"- {rule}" for rule in PROMPT_RULES))
    return _SEPARATOR.join(parts)


def _available(catalogue: Catalogue) -> str:
    return f"{_AVAILABLE}\n{render_descriptions(catalogue)}"
