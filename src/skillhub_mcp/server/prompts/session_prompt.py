"""The prompt `session_context`: the AGENTS.md block and then the catalogue of skills, for the start of a session.

Hosts place their own text before it and the conversation after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fastmcp import FastMCP
from fastmcp.prompts.base import PromptResult

from skillhub_mcp.server.middleware.sessions import Sessions

if TYPE_CHECKING:
    from skillhub_mcp.disclosure.context.catalogue import Catalogues

_NAME = "session_context"
_NOTHING = "There is no AGENTS.md and no skill for this directory."


def add_session_prompt(
    server: FastMCP,
    sessions: Sessions,
    catalogues: Catalogues | None,
    agents_text: Callable[[], str] | None,
    *,
    with_paths: bool,
) -> None:
    """Register the prompt, made of what the server's sets of tools have."""

    @server.prompt(name=_NAME, title="Begin a session", description="The project's AGENTS.md and its skills")
    def session_context() -> PromptResult:
        parts = []
        if agents_text is not None:
            parts.append(agents_text())
        if catalogues is not None:
            parts.append(catalogues.initial(with_paths=with_paths).text)
            sessions.current().ledger.record("catalogue", "catalogue", catalogues.listing().cwd, parts[-1])
        return PromptResult("\n\n".join(part for part in parts if part) or _NOTHING)
