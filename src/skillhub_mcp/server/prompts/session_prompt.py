"""What does a session begin with? A prompt that holds the AGENTS.md block and then the skills' catalogue.

Their order is the seeds': the host's own text, `agents_context`, `skills_context`, then the conversation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastmcp import FastMCP
from fastmcp.prompts.base import PromptResult

from skillhub_mcp.server.middleware.sessions import Sessions

if TYPE_CHECKING:
    from skillhub_mcp.disclosure.context.catalogue import Catalogues
    from skillhub_mcp.server.tools.agents import AgentsTools

_NAME = "session_context"
_NOTHING = "There is no AGENTS.md and no skill for this directory."


def add_beginning(
    server: FastMCP,
    sessions: Sessions,
    catalogues: Catalogues | None,
    agents: AgentsTools | None,
    *,
    with_paths: bool,
) -> None:
    """Register the prompt `session_context`, made of what the server's sets of tools have."""

    @server.prompt(name=_NAME, title="Begin a session", description="The project's AGENTS.md and its skills")
    def begin() -> PromptResult:
        parts = []
        if agents is not None:
            parts.append(agents.text())
        if catalogues is not None:
            parts.append(catalogues.initial(with_paths=with_paths).text)
            sessions.current().ledger.record("catalogue", "catalogue", catalogues.listing().cwd, parts[-1])
        return PromptResult("\n\n".join(part for part in parts if part) or _NOTHING)
