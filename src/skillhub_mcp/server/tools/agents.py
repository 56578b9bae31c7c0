"""The opt-in set `agents`: which AGENTS.md hold here, which more for a path, and what changed since (seed 001)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated, Any

from fastmcp import FastMCP
from fastmcp.tools.base import ToolResult
from mcp_types import ToolAnnotations
from pydantic import Field, ValidationError
from pydantic.json_schema import SkipJsonSchema

from skillhub_mcp.agents_md.files import Note
from skillhub_mcp.agents_md.reminders import agents_context as agents_context_text
from skillhub_mcp.agents_md.reminders import paths_reminder, resume_reminder
from skillhub_mcp.agents_md.resolver import AgentsResolver
from skillhub_mcp.agents_md.schema import AgentsFile, AgentsState
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.server.middleware.sessions import Session, Sessions
from skillhub_mcp.server.tools.core import MAX_PATH_CHARACTERS
from skillhub_mcp.server.tools.registration import offered

AGENTS_META_KEY = "io.skillhub/agents"

# It answers otherwise the second time, because it was asked before; nothing is written anywhere.
_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
_CONTEXT = (
    "Get the AGENTS.md instructions of the project, from its root down to the working directory. Call once when a "
    "session begins: returns one text, the same for the whole session. Follow it; elsewhere call agents_resolve."
)
_RESOLVE = (
    "Call before you read or edit a file outside the directories that you have instructions for. Returns the paths of "
    "further AGENTS.md that apply to it, and nothing for what you know already. Read them yourself, then go on."
)
_RESUME = (
    "Call when a session is taken up again, with the `state` that agents_context gave. Returns what has changed since, "
    "and what to read again before you go on."
)
_NOTHING_MORE = "No further AGENTS.md applies to this path."
_OUTSIDE = "This path lies outside the project: no AGENTS.md is looked for there."
_NO_AGENTS = "There is no AGENTS.md for this directory."
_NO_CHANGE = "Nothing has changed since the state was saved."

AgentsPath = Annotated[str, Field(max_length=MAX_PATH_CHARACTERS)]


class AgentsTools:
    """AGENTS.md for the sessions of one server. Without `with_paths`, paths are told from the project's root.

    `make_resolver` returns what a session that begins in a directory knows; an empty one is the server's own.
    """

    def __init__(self, make_resolver: Callable[[str], AgentsResolver], sessions: Sessions, *, with_paths: bool) -> None:
        self._make_resolver = make_resolver
        self.sessions = sessions
        self._with_paths = with_paths

    def resolver(self, cwd: str | None = None) -> AgentsResolver:
        """Return the present session's, for `cwd` or where its last one was asked for. Raises InvalidArgument."""
        if cwd is not None and not self._with_paths:
            raise InvalidArgument("cwd", "cannot be chosen over HTTP", hint="leave it out")
        session = self.sessions.current()
        if cwd is None and session.agents:
            return session.agents[-1]
        return session.keep_agents(self._make_resolver(cwd or ""))

    def text(self, cwd: str | None = None) -> str:
        """Return the initial block, or nothing where there is no AGENTS.md (§5.2)."""
        resolver = self.resolver(cwd)
        first = resolver.initial()
        text = first.text
        if text and not self._with_paths:
            # Written anew with other paths; what the files said was read once and stays (§7).
            text = agents_context_text(
                [(self._place(resolver, path), content) for path, content in first.texts],
                [Note(self._place(resolver, note.path), note.message) for note in first.notes],
            )
        self.sessions.current().ledger.record("agents", "AGENTS.md", resolver.project.cwd, text)
        return text

    def context(self, cwd: str | None = None) -> ToolResult:
        """Return what `agents_context` answers."""
        text = self.text(cwd)
        resolver = self.resolver(cwd)
        state = resolver.state if self._with_paths else self._relative(resolver)
        facts = {"files": self._files(resolver, resolver.initial().files), "state": state.model_dump(mode="json")}
        return ToolResult(content=text or _NO_AGENTS, meta={AGENTS_META_KEY: facts})

    def resolve(self, path: str) -> ToolResult:
        """Return what else applies to `path` (§6)."""
        resolver = self.resolver()
        if not resolver.is_inside(path):
            return ToolResult(content=_OUTSIDE, structured_content={"files": []})
        found = resolver.resolve(path).files
        told = self._told(resolver, found)
        reminder = paths_reminder(told)
        self.sessions.current().ledger.record("agents", "reminder", path, reminder)
        answer = {"files": self._files(resolver, found)}
        return ToolResult(content=reminder or _NOTHING_MORE, structured_content=answer)

    def resume_diff(self, saved: AgentsState) -> ToolResult:
        """Return what is other than when `saved` was (§11.3)."""
        resolver = self.resolver()
        before = saved if self._with_paths else self._absolute(resolver, saved)
        changed = self._told(resolver, resolver.changed(before))
        now = resolver.state if self._with_paths else self._relative(resolver)
        return ToolResult(content=resume_reminder(saved, now, changed) or _NO_CHANGE)

    def state(self, session: Session) -> dict[str, Any]:
        """Return what a session knows of AGENTS.md, for `context_inspect`."""
        states = (resolver.state if self._with_paths else self._relative(resolver) for resolver in session.agents)
        return {"directories": [state.model_dump(mode="json") for state in states]}

    def _relative(self, resolver: AgentsResolver) -> AgentsState:
        state = resolver.state
        return AgentsState(
            cwd=self._place(resolver, state.cwd),
            root=self._place(resolver, state.root),
            markers=state.markers,
            covered=tuple(self._place(resolver, path) for path in state.covered),
            loaded={self._place(resolver, path): mtime for path, mtime in state.loaded.items()},
        )

    def _absolute(self, resolver: AgentsResolver, state: AgentsState) -> AgentsState:
        """Return a state whose paths were told from the root, with paths of this machine; only `loaded` is needed."""
        loaded = {os.path.join(resolver.project.root, path): mtime for path, mtime in state.loaded.items()}
        return state.model_copy(update={"loaded": loaded})

    def _files(self, resolver: AgentsResolver, files: tuple[AgentsFile, ...]) -> list[dict[str, Any]]:
        return [file.model_dump(mode="json") for file in self._told(resolver, files)]

    def _told(self, resolver: AgentsResolver, files: tuple[AgentsFile, ...]) -> tuple[AgentsFile, ...]:
        return tuple(file.model_copy(update={"path": self._place(resolver, file.path)}) for file in files)

    def _place(self, resolver: AgentsResolver, path: str) -> str:
        return path if self._with_paths else os.path.relpath(path, resolver.project.root)


def add_agents_tools(server: FastMCP, tools: AgentsTools) -> None:
    """Register the set."""
    sessions = tools.sessions

    @offered(server, title="AGENTS.md here", description=_CONTEXT, annotations=_READS)
    def agents_context(cwd: AgentsPath | SkipJsonSchema[None] = None) -> ToolResult:
        return sessions.signed(tools.context(cwd))

    @offered(server, title="AGENTS.md for a path", description=_RESOLVE, annotations=_READS)
    def agents_resolve(
        path: Annotated[AgentsPath, Field(description="The file or directory, absolute or from the working directory")],
    ) -> ToolResult:
        return sessions.signed(tools.resolve(path))

    @offered(server, title="What changed since", description=_RESUME, annotations=_READS)
    def agents_resume_diff(
        saved_state: Annotated[dict[str, Any], Field(description="`state` as agents_context gave it")],
    ) -> ToolResult:
        return sessions.signed(tools.resume_diff(saved_agents_state(saved_state)))


def saved_agents_state(saved: dict[str, Any]) -> AgentsState:
    """Return a state that a client kept. Raises InvalidArgument for one that is none."""
    try:
        return AgentsState.model_validate(saved)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "it"
        raise InvalidArgument(
            "saved_state", f"is not a saved state: {place}: {first['msg']}", hint="agents_context returns one"
        ) from error
