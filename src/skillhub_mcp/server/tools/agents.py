"""The set `agents`: AGENTS.md for the working directory, for another path, and what changed since a session."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastmcp.tools.base import ToolResult
from pydantic import Field, ValidationError
from pydantic.json_schema import SkipJsonSchema

from skillhub_mcp.agents_md.chain import truncate
from skillhub_mcp.agents_md.files import Note, is_within
from skillhub_mcp.agents_md.reminders import agents_context as agents_context_text
from skillhub_mcp.agents_md.reminders import paths_reminder, resume_reminder
from skillhub_mcp.agents_md.resolver import AgentsResolver
from skillhub_mcp.agents_md.schema import AgentsFile, AgentsState
from skillhub_mcp.agents_md.session import AgentsSession, MakeResolver, SavedSessions
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.sanitize import path_for_model
from skillhub_mcp.server.callers import caller_key
from skillhub_mcp.server.middleware.sessions import Session, Sessions, with_session_note
from skillhub_mcp.server.tools.results import Path

log = logging.getLogger(__name__)

AGENTS_META_KEY = "io.skillhub/agents"

_MAX_HANDLE_CHARACTERS = 64
_READ_BYTES = 32_768

_TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
# The fields of AgentsState, as a host passes them.
_STATE_SCHEMA: dict[str, Any] = {
    "properties": {
        "cwd": {"type": "string"},
        "root": {"type": "string"},
        "markers": _TEXTS,
        "covered": _TEXTS,
        "loaded": {"type": "object", "additionalProperties": {"type": "number"}},
    },
    "required": ["cwd", "root", "markers"],
    "additionalProperties": False,
}

_NOTHING_MORE = "No further AGENTS.md applies to this path."
_OUTSIDE = "This path lies outside the project: no AGENTS.md is looked for there."
_NO_AGENTS = "There is no AGENTS.md for this directory."
_SWITCHED_OFF = "AGENTS.md files are switched off on this server."
_NO_CHANGE = "Nothing has changed since."


@dataclass(frozen=True, slots=True)
class AgentsTools:
    """AGENTS.md for the sessions of one server. Without `with_paths`, paths are relative to the project's root.

    `make_resolver` returns AGENTS.md in a directory, given what the session knows; an empty directory is the server's
    own. `saved` has the sessions that later ones can take up.
    """

    make_resolver: MakeResolver
    sessions: Sessions
    saved: SavedSessions
    with_paths: bool

    def agents_context(self, cwd: Path | SkipJsonSchema[None] = None) -> ToolResult:
        resolver = self._enter(cwd)
        text = self._initial_text(resolver)
        state = self._shown_state(resolver).model_dump(mode="json")
        facts = {"files": self._dumped(self._shown_files(resolver, resolver.initial().files)), "state": state}
        nothing = _NO_AGENTS if resolver.enabled else _SWITCHED_OFF
        return self._with_resume_handle(ToolResult(content=text or nothing, meta={AGENTS_META_KEY: facts}))

    def agents_resolve(
        self, path: Annotated[Path, Field(description="The file or directory, absolute or from the working directory")]
    ) -> ToolResult:
        resolver, target = self._place(path)
        if not resolver.is_inside(target):
            return self.sessions.with_handle(ToolResult(content=_OUTSIDE, structured_content={"files": []}))
        found = self._shown_files(resolver, resolver.resolve(target).files)
        reminder = paths_reminder(found)
        self.sessions.current().ledger.record("agents", "reminder", path, reminder)
        result = {"files": self._dumped(found)}
        answer = self.sessions.with_handle(ToolResult(content=reminder or _NOTHING_MORE, structured_content=result))
        self._save()
        return answer

    def agents_resume_diff(
        self,
        resume: Annotated[str, Field(max_length=_MAX_HANDLE_CHARACTERS, description="The earlier `session`")]
        | SkipJsonSchema[None] = None,
        cwd: Path | SkipJsonSchema[None] = None,
        saved_state: Annotated[
            dict[str, Any],
            Field(description="Instead, for hosts: `state` from `_meta`", json_schema_extra=_STATE_SCHEMA),
        ]
        | SkipJsonSchema[None] = None,
    ) -> ToolResult:
        # An unknown session is refused before this one changes.
        before = self._earlier(resume) if saved_state is None else _parse_state(saved_state)
        resolver = self._agents().current() if cwd is None else self._enter(cwd)
        if saved_state is not None and not self.with_paths:
            # The client saved paths from the project's root.
            root = resolver.project.root
            before = _converted(before, root, lambda path: os.path.normpath(os.path.join(root, path)))
        changed = self._shown_files(resolver, resolver.take_up(before))
        text = resume_reminder(self._shown(resolver, before), self._shown_state(resolver), changed)
        return self._with_resume_handle(ToolResult(content=text or _NO_CHANGE))

    def agents_read(
        self,
        path: Annotated[Path, Field(description="As agents_context or agents_resolve named it")],
        offset: Annotated[int, Field(ge=0, description="To go on: the offset that the last answer named")] = 0,
    ) -> ToolResult:
        resolver, target = self._place(path)
        content = resolver.read(target).encode()
        if offset >= len(content):
            reason = f"is {offset:,}, and the file has {len(content):,} bytes"
            raise InvalidArgument("offset", reason, hint="pass the offset that the last answer named, or none to begin")
        piece = truncate(content[offset:].decode("utf-8", "ignore"), _READ_BYTES)
        shown = self._shown_path(resolver, os.path.join(resolver.project.root, target))
        end = offset + len(piece.encode())
        rest = [Note(shown, f"has {len(content):,} bytes: go on with offset={end}")] if end < len(content) else []
        text = agents_context_text([(shown, piece)], rest, scope="path")
        self.sessions.current().ledger.record("agents", "AGENTS.md", shown, text)
        answer = self.sessions.with_handle(ToolResult(content=text))
        self._save()
        return answer

    def initial_text(self) -> str:
        """Return the initial block of the server's own directory, or an empty text if there are no AGENTS.md files."""
        return self._initial_text(self._agents().enter())

    def state(self, session: Session) -> dict[str, Any]:
        """Return what a session knows of AGENTS.md, for `context_inspect`."""
        resolvers = () if session.agents is None else session.agents.resolvers
        return {"directories": [self._shown_state(resolver).model_dump(mode="json") for resolver in resolvers]}

    def _agents(self) -> AgentsSession:
        """Return the current session's AGENTS.md. One that goes on from a saved session knows what that one knew."""
        session = self.sessions.current()

        def make() -> AgentsSession:
            agents = AgentsSession(self.make_resolver)
            saved = None if session.continues is None else self._find(session.continues)
            if saved is not None:
                agents.known.take_up(saved)
            return agents

        return session.agents_from(make)

    def _enter(self, cwd: str | None) -> AgentsResolver:
        """Return the resolver of a directory, or of the server's own. Raises InvalidArgument."""
        if cwd is not None and not self.with_paths:
            raise InvalidArgument("cwd", "cannot be chosen over HTTP", hint="leave it out")
        return self._agents().enter(cwd or "")

    def _place(self, path: str) -> tuple[AgentsResolver, str]:
        """Return the resolver for a path, and its target. Raises InvalidArgument for one that is no path."""
        agents = self._agents()
        if self.with_paths:
            return agents.of_path(path), path
        resolver = agents.current()
        # A client without the disk counts from the directory that paths are relative to. An absolute path is one of its
        # own machine, or a guess.
        if os.path.isabs(path):
            raise InvalidArgument("path", "is absolute", hint="pass it from the project's root, as paths are given")
        return resolver, os.path.join(resolver.project.root, path)

    def _initial_text(self, resolver: AgentsResolver) -> str:
        first = resolver.initial()
        text = agents_context_text(
            [(self._shown_path(resolver, path), content) for path, content in first.texts],
            [Note(self._shown_path(resolver, note.path), note.message) for note in first.notes],
        )
        self.sessions.current().ledger.record("agents", "AGENTS.md", resolver.project.cwd, text)
        return text

    def _with_resume_handle(self, result: ToolResult) -> ToolResult:
        """Save the session, and return `result` with the handle by which a later one can take it up."""
        answer, session = self.sessions.with_handle(result), self.sessions.current()
        saved = self._save(name=True)
        if session.handle or not saved:
            # A client without a session gets its handle once, and it is the same.
            return answer
        note = f"session: {session.resume_handle} (for `resume` of agents_resume_diff, in a later session)"
        return with_session_note(answer, note, session.resume_handle)

    def _save(self, *, name: bool = False) -> bool:
        """Save what the current session knows, if it has a handle or is to be given one; return whether it is saved."""
        session = self.sessions.current()
        if not (name or session.is_named):
            return False
        try:
            self.saved.save(session.resume_handle, self._agents().current().state, caller=caller_key() or "")
        except OSError as error:
            log.warning("A session cannot be taken up later: its state cannot be saved: %s", error)
            return False
        return True

    def _earlier(self, handle: str | None) -> AgentsState:
        """Return the saved state of a session, of this one without a handle. Raises InvalidArgument."""
        session = self.sessions.current()
        own = session.continues or (session.resume_handle if session.is_named else None)
        saved = self._find(handle or own or "")
        if saved is None:
            raise InvalidArgument(
                "resume", "names no session that is known here", hint="call agents_context, which begins a new one"
            )
        return saved

    def _find(self, handle: str) -> AgentsState | None:
        return self.saved.find(handle, caller=caller_key() or "")

    def _shown_state(self, resolver: AgentsResolver) -> AgentsState:
        """Return the state of a session in one project, with paths as the client knows them."""
        return self._shown(resolver, resolver.state)

    def _shown(self, resolver: AgentsResolver, state: AgentsState) -> AgentsState:
        return _converted(state, resolver.project.root, partial(self._shown_path, resolver))

    def _dumped(self, files: Sequence[AgentsFile]) -> list[dict[str, Any]]:
        return [file.model_dump(mode="json") | {"path": path_for_model(file.path)} for file in files]

    def _shown_files(self, resolver: AgentsResolver, files: tuple[AgentsFile, ...]) -> tuple[AgentsFile, ...]:
        return tuple(file.model_copy(update={"path": self._shown_path(resolver, file.path)}) for file in files)

    def _shown_path(self, resolver: AgentsResolver, path: str) -> str:
        return path if self.with_paths else os.path.relpath(path, resolver.project.root)


def _converted(state: AgentsState, root: str, convert: Callable[[str], str]) -> AgentsState:
    """Return the part of a state that lies in the project at `root`, with its paths converted."""

    def inside(paths: Iterable[str]) -> list[str]:
        return [path for path in paths if is_within(os.path.join(root, path), root)]

    return AgentsState(
        cwd=convert(state.cwd),
        root=convert(state.root),
        markers=state.markers,
        covered=tuple(map(convert, inside(state.covered))),
        loaded={convert(path): state.loaded[path] for path in inside(state.loaded)},
    )


def _parse_state(saved: dict[str, Any]) -> AgentsState:
    """Return a state that a client saved. Raises InvalidArgument for an invalid one."""
    try:
        return AgentsState.model_validate(saved)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        reason = f"is not a saved state: {'.'.join(map(str, first['loc'])) or 'it'}: {first['msg']}"
        raise InvalidArgument("saved_state", reason, hint="pass one of agents_context") from error
