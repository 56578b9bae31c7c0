"""The set `agents`: AGENTS.md for the working directory, for another path, and what changed since a session."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastmcp.tools.base import ToolResult
from pydantic import Field, ValidationError
from pydantic.json_schema import SkipJsonSchema

from skillhub_mcp.agents_md.files import Note
from skillhub_mcp.agents_md.reminders import agents_context as agents_context_text
from skillhub_mcp.agents_md.reminders import paths_reminder, resume_reminder
from skillhub_mcp.agents_md.resolver import AgentsResolver
from skillhub_mcp.agents_md.schema import AgentsFile, AgentsState
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.server.middleware.sessions import Session, Sessions
from skillhub_mcp.server.tools.arguments import Path

AGENTS_META_KEY = "io.skillhub/agents"

_NOTHING_MORE = "No further AGENTS.md applies to this path."
_OUTSIDE = "This path lies outside the project: no AGENTS.md is looked for there."
_NO_AGENTS = "There is no AGENTS.md for this directory."
_NO_CHANGE = "Nothing has changed since the state was saved."


@dataclass(frozen=True, slots=True)
class AgentsTools:
    """AGENTS.md for the sessions of one server. Without `with_paths`, paths are relative to the project's root.

    `make_resolver` returns what a session that begins in a directory knows; an empty one is the server's own.
    """

    make_resolver: Callable[[str], AgentsResolver]
    sessions: Sessions
    with_paths: bool

    def agents_context(self, cwd: Path | SkipJsonSchema[None] = None) -> ToolResult:
        text = self.initial_text(cwd)
        resolver = self.resolver(cwd)
        state = self._shown_state(resolver)
        facts = {"files": self._files(resolver, resolver.initial().files), "state": state.model_dump(mode="json")}
        return self.sessions.with_handle(ToolResult(content=text or _NO_AGENTS, meta={AGENTS_META_KEY: facts}))

    def agents_resolve(
        self,
        path: Annotated[Path, Field(description="The file or directory, absolute or from the working directory")],
    ) -> ToolResult:
        return self.sessions.with_handle(self._resolve(path))

    def agents_resume_diff(
        self,
        saved_state: Annotated[dict[str, Any], Field(description="`state` as agents_context gave it")],
    ) -> ToolResult:
        saved = _parse_state(saved_state)
        resolver = self.resolver()
        before = saved if self.with_paths else self._absolute(resolver, saved)
        changed = self._shown_files(resolver, resolver.changed(before))
        text = resume_reminder(saved, self._shown_state(resolver), changed)
        return self.sessions.with_handle(ToolResult(content=text or _NO_CHANGE))

    def resolver(self, cwd: str | None = None) -> AgentsResolver:
        """Return the current session's resolver, for `cwd` or the last one used. Raises InvalidArgument."""
        if cwd is not None and not self.with_paths:
            raise InvalidArgument("cwd", "cannot be chosen over HTTP", hint="leave it out")
        session = self.sessions.current()
        if cwd is None and session.agents:
            return session.agents[-1]
        return session.add_agents(self.make_resolver(cwd or ""))

    def initial_text(self, cwd: str | None = None) -> str:
        """Return the initial block of AGENTS.md files, or an empty text if there are none."""
        resolver = self.resolver(cwd)
        first = resolver.initial()
        text = first.text
        if text and not self.with_paths:
            # Rendered again with relative paths; the content of the files was read once and does not change.
            text = agents_context_text(
                [(self._shown_path(resolver, path), content) for path, content in first.texts],
                [Note(self._shown_path(resolver, note.path), note.message) for note in first.notes],
            )
        self.sessions.current().ledger.record("agents", "AGENTS.md", resolver.project.cwd, text)
        return text

    def state(self, session: Session) -> dict[str, Any]:
        """Return what a session knows of AGENTS.md, for `context_inspect`."""
        return {"directories": [self._shown_state(resolver).model_dump(mode="json") for resolver in session.agents]}

    def _resolve(self, path: str) -> ToolResult:
        resolver = self.resolver()
        if not resolver.is_inside(path):
            return ToolResult(content=_OUTSIDE, structured_content={"files": []})
        found = resolver.resolve(path).files
        reminder = paths_reminder(self._shown_files(resolver, found))
        self.sessions.current().ledger.record("agents", "reminder", path, reminder)
        result = {"files": self._files(resolver, found)}
        return ToolResult(content=reminder or _NOTHING_MORE, structured_content=result)

    def _shown_state(self, resolver: AgentsResolver) -> AgentsState:
        state = resolver.state
        if self.with_paths:
            return state
        return AgentsState(
            cwd=self._shown_path(resolver, state.cwd),
            root=self._shown_path(resolver, state.root),
            markers=state.markers,
            covered=tuple(self._shown_path(resolver, path) for path in state.covered),
            loaded={self._shown_path(resolver, path): mtime for path, mtime in state.loaded.items()},
        )

    def _absolute(self, resolver: AgentsResolver, state: AgentsState) -> AgentsState:
        """Return a state with relative paths with those of this machine; only `loaded` is needed."""
        loaded = {os.path.join(resolver.project.root, path): mtime for path, mtime in state.loaded.items()}
        return state.model_copy(update={"loaded": loaded})

    def _files(self, resolver: AgentsResolver, files: tuple[AgentsFile, ...]) -> list[dict[str, Any]]:
        return [file.model_dump(mode="json") for file in self._shown_files(resolver, files)]

    def _shown_files(self, resolver: AgentsResolver, files: tuple[AgentsFile, ...]) -> tuple[AgentsFile, ...]:
        return tuple(file.model_copy(update={"path": self._shown_path(resolver, file.path)}) for file in files)

    def _shown_path(self, resolver: AgentsResolver, path: str) -> str:
        return path if self.with_paths else os.path.relpath(path, resolver.project.root)


def _parse_state(saved: dict[str, Any]) -> AgentsState:
    """Return a state that a client saved. Raises InvalidArgument for an invalid one."""
    try:
        return AgentsState.model_validate(saved)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "it"
        raise InvalidArgument(
            "saved_state", f"is not a saved state: {place}: {first['msg']}", hint="agents_context returns one"
        ) from error
