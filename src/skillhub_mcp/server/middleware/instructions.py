"""What does a client's model hear before its first call? The server's instructions, within a budget of bytes.

1. What the tools need comes first. What is left is shared by the lists that the sets `skill` and `context` promise and
   by the card, which leaves out what a list has.
2. Each client has a text of its own, made when it connects, of the skills that it may have. It is never changed for it
   afterwards, so that its prompt cache holds (seed 004, seed 001 §7).
3. A card that is late is left out: no client waits for it longer than a moment.
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
_BETWEEN = "\n\n"

# Reading ten thousand skills takes a part of it; a library that takes longer is told of by its tools alone. A server
# over HTTP is started once for many clients, and reads while it loads its index.
_PATIENCE_SECONDS: dict[Transport, float] = {"stdio": 1.0, "http": 3.0}
# Threads that nobody waits for any longer must not keep others waiting.
_TEXTS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class CardOptions:
    """How much the skills tell of themselves, and what decides which of them do.

    `project` is the directory whose files say which skills fit, or empty for none; `used_before` returns the names of
    the skills that were loaded before a day.
    """

    kind: Literal["off", "names", "full"]
    project: str
    used_before: Callable[[date], Collection[str]]


@dataclass(frozen=True, slots=True)
class InstructionOptions:
    """Which sets of tools the text is for, and what it may take. `catalogues` are the set `context`'s."""

    transport: Transport
    tools: Sequence[str]
    max_bytes: int
    catalogues: Catalogues | None
    with_paths: bool
    card: CardOptions


class ServerInstructions(Middleware):
    """Writes the instructions of one server, for each client. The skills are read when the first of them connects."""

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
        text = await self._written()
        result = await call_next(context)
        return result and result.model_copy(update={"instructions": text})

    async def on_discover(
        self,
        context: MiddlewareContext[mcp_types.DiscoverRequest],
        call_next: CallNext[mcp_types.DiscoverRequest, Any],
    ) -> Any:
        text = await self._written()
        result = await call_next(context)
        if not isinstance(result, mcp_types.DiscoverResult):
            return result
        return result.model_copy(update={"instructions": text})

    async def _written(self) -> str:
        """Return the text for the client that is asking now, which is the rules alone where the skills are not had."""
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(_TEXTS_AT_ONCE)
        patience = None if self._promises_a_list else _PATIENCE_SECONDS[self._options.transport]
        with anyio.move_on_after(patience):
            try:
                # In a thread, which has this request's context: the hub knows there who is asking.
                return await anyio.to_thread.run_sync(self._text, abandon_on_cancel=True, limiter=self._threads)
            except SkillHubError as error:
                # The tools will say the same to whoever calls them; nothing keeps a client from connecting.
                log.warning("The instructions name no skills: %s", error.message)
                return self._rules
        log.debug("The instructions name no skills: they are still being read")
        return self._rules

    def _text(self) -> str:
        text = self._rules
        lists = self._lists()
        for number, write in enumerate(lists):
            # Each may take its share of what is left, and what it leaves over goes to the next.
            left = (self._options.max_bytes - len(text.encode())) // (len(lists) - number) - len(_BETWEEN)
            written = write(left) if left > 0 else ""
            text += f"{_BETWEEN}{written}" if written else ""
        return text

    @property
    def _promises_a_list(self) -> bool:
        # Kept however long it takes to read the skills.
        return "skill" in self._options.tools or self._options.catalogues is not None

    def _lists(self) -> list[Callable[[int], str]]:
        """Return what writes each list of skills within a number of bytes."""
        lists: list[Callable[[int], str]] = []
        every_skill = "skill" in self._options.tools
        if every_skill:
            lists.append(lambda left: self._named(left).text)
        if self._options.catalogues is not None:
            lists.append(lambda left: self._placed(left).text)
        if "core" in self._options.tools and not every_skill:
            lists.append(self._card)
        return lists

    def _card(self, max_bytes: int) -> str:
        from skillhub_mcp.disclosure.card import CardContext, render_card
        from skillhub_mcp.disclosure.project_match import project_keywords

        snapshot, policy = self._hub.present()
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

    def _named(self, max_bytes: int) -> Rendered:
        """Seed 004's first layer: every skill that a model may choose, by name."""
        entries = self._told(self._hub.catalogue())
        return fit(entries, Budget(max_bytes=max_bytes), _available, search_tool=self._search_tool)

    def _placed(self, max_bytes: int) -> Rendered:
        """Seed 000's catalogue, as far as there is room for it."""
        from skillhub_mcp.disclosure.context.catalogue import context_entries

        assert self._options.catalogues is not None  # noqa: S101 - for the type checker
        entries = self._told(context_entries(self._options.catalogues.listing(), with_paths=self._options.with_paths))
        return fit(
            entries, Budget(max_bytes=max_bytes), render_codelia, search_tool="skill_search", load_tool="skill_load"
        )

    def _told(self, entries: Sequence[CatalogueEntry]) -> Sequence[CatalogueEntry]:
        if self._options.card.kind == "names":
            return [replace(entry, description="") for entry in entries]
        return entries

    @property
    def _search_tool(self) -> str:
        sets = self._options.tools
        return "search_skills" if "core" in sets else "skill_search" if "context" in sets else "Skill by name"


def _rules(sets: Sequence[str]) -> str:
    """Return what the tools of those sets need to be known of them."""
    parts = [text for name, text in (("core", CORE), ("context", CONTEXT), ("skill", SKILL)) if name in sets]
    if "agents" in sets:
        from skillhub_mcp.agents_md.reminders import PROMPT_RULES

        parts.append("\n".join(f"- {rule}" for rule in PROMPT_RULES))
    return _BETWEEN.join(parts)


def _available(catalogue: Catalogue) -> str:
    return f"{_AVAILABLE}\n{render_descriptions(catalogue)}"
