"""What does a client's model hear before its first call? The server's instructions, within a budget of bytes.

What the tools need comes first; the names of skills take what is left. The text is made when a client connects and is
never changed for it afterwards, so that its prompt cache holds (seed 004, seed 001 §7).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mcp_types
from fastmcp import FastMCP
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext

from skillhub_mcp.disclosure.catalogue import Budget, Catalogue, Rendered, codelia, descriptions, fit
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.hub import SkillHub

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


@dataclass(frozen=True, slots=True)
class InstructionOptions:
    """Which sets of tools the text is for, and what it may take. `catalogues` are the set `context`'s."""

    tools: Sequence[str]
    max_bytes: int
    catalogues: Catalogues | None
    with_paths: bool


class Instructing(Middleware):
    """Writes the instructions of one server. A set that lists skills has them read when the first client connects."""

    def __init__(self, server: FastMCP, hub: SkillHub, options: InstructionOptions) -> None:
        self._server = server
        self._hub = hub
        self._options = options
        server.instructions = self._text([])
        if "skill" in options.tools or options.catalogues is not None:
            server.add_middleware(self)

    async def on_initialize(
        self,
        context: MiddlewareContext[mcp_types.InitializeRequest],
        call_next: CallNext[mcp_types.InitializeRequest, mcp_types.InitializeResult | None],
    ) -> mcp_types.InitializeResult | None:
        await self._write()
        result = await call_next(context)
        # Over stdio the SDK took its copy of the text when the process started.
        return result and result.model_copy(update={"instructions": self._server.instructions})

    async def on_discover(
        self,
        context: MiddlewareContext[mcp_types.DiscoverRequest],
        call_next: CallNext[mcp_types.DiscoverRequest, Any],
    ) -> Any:
        await self._write()
        return await call_next(context)

    async def _write(self) -> None:
        try:
            self._server.instructions = await asyncio.to_thread(self._text, self._lists())
        except SkillHubError as error:
            # The tools will say the same to whoever calls them; nothing keeps a client from connecting.
            self._server.instructions = self._text([])
            log.warning("The instructions name no skills: %s", error.message)

    def _lists(self) -> list[Callable[[int], str]]:
        """Return what writes each list of skills within a number of bytes."""
        lists: list[Callable[[int], str]] = []
        if "skill" in self._options.tools:
            lists.append(lambda left: self._named(left).text)
        if self._options.catalogues is not None:
            lists.append(lambda left: self._placed(left).text)
        return lists

    def _text(self, lists: Sequence[Callable[[int], str]]) -> str:
        sets = self._options.tools
        parts = [text for name, text in (("core", CORE), ("context", CONTEXT), ("skill", SKILL)) if name in sets]
        if "agents" in sets:
            from skillhub_mcp.agents_md.reminders import PROMPT_RULES

            parts.append("\n".join(f"- {rule}" for rule in PROMPT_RULES))
        text = "\n\n".join(parts)
        for number, write in enumerate(lists):
            # Each list may take its share of what is left, and what it leaves over goes to the next.
            left = (self._options.max_bytes - len(text.encode())) // (len(lists) - number)
            written = write(left - len("\n\n")) if left > 0 else ""
            text += f"\n\n{written}" if written else ""
        return text

    def _named(self, max_bytes: int) -> Rendered:
        """Seed 004's first layer: every skill that a model may choose, by name."""
        return fit(self._hub.catalogue(), Budget(max_bytes=max_bytes), _available, search_tool=self._search_tool)

    def _placed(self, max_bytes: int) -> Rendered:
        """Seed 000's catalogue, as far as there is room for it."""
        from skillhub_mcp.disclosure.context.catalogue import entries_of

        assert self._options.catalogues is not None  # noqa: S101 - for the type checker
        entries = entries_of(self._options.catalogues.listing(), with_paths=self._options.with_paths)
        return fit(entries, Budget(max_bytes=max_bytes), codelia, search_tool="skill_search", load_tool="skill_load")

    @property
    def _search_tool(self) -> str:
        sets = self._options.tools
        return "search_skills" if "core" in sets else "skill_search" if "context" in sets else "Skill by name"


def _available(catalogue: Catalogue) -> str:
    return f"{_AVAILABLE}\n{descriptions(catalogue)}"
