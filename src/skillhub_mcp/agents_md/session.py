"""AGENTS.md in one session, which may work in several directories, and saved states of sessions."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from pydantic import ValidationError

from skillhub_mcp._util.atomic_write import PrivateFiles
from skillhub_mcp.agents_md.known import KnownFiles
from skillhub_mcp.agents_md.resolver import AgentsResolver
from skillhub_mcp.agents_md.schema import AgentsState
from skillhub_mcp.environment import expand_home

MakeResolver = Callable[[str, KnownFiles], AgentsResolver]


class AgentsSession:
    """The resolvers of a session's working directories. Thread-safe. Relative paths start from the last one."""

    def __init__(self, make_resolver: MakeResolver) -> None:
        self.known = KnownFiles()
        self._make_resolver = make_resolver
        self._lock = threading.Lock()
        self._resolvers: dict[str, AgentsResolver] = {}

    def enter(self, cwd: str = "") -> AgentsResolver:
        """Return the resolver of a working directory, "" for the session's own. Raises InvalidArgument."""
        with self._lock:
            made = self._make_resolver(cwd, self.known)
            resolver = self._resolvers.pop(made.project.cwd, made)
            # The one entered last is at the end.
            self._resolvers[made.project.cwd] = resolver
            return resolver

    def current(self) -> AgentsResolver:
        """Return the resolver of the directory entered last; without one, enter the session's own."""
        return self.resolvers[-1] if self.resolvers else self.enter()

    def of_path(self, path: str) -> AgentsResolver:
        """Return the resolver of the innermost project that contains an absolute path, else the current one."""
        current = self.current()
        if not os.path.isabs(expand_home(path)):
            return current
        holding = [resolver for resolver in self.resolvers if resolver.is_inside(path)]
        return max(reversed(holding), key=lambda resolver: len(resolver.project.root), default=current)

    @property
    def resolvers(self) -> tuple[AgentsResolver, ...]:
        """The resolvers of all working directories, the one entered last at the end."""
        with self._lock:
            return tuple(self._resolvers.values())


_MAX_SESSIONS = 1_000


class SavedSessions:
    """The last thousand states, by handle and caller, so that no caller resumes another's session."""

    def __init__(self, directory: str) -> None:
        self._files = PrivateFiles(directory, most=_MAX_SESSIONS)

    def save(self, handle: str, state: AgentsState, *, caller: str) -> None:
        """Save the state of a session. Raises OSError."""
        self._files.write((handle, caller), state.model_dump_json().encode())

    def find(self, handle: str, *, caller: str) -> AgentsState | None:
        """Return the saved state of the caller's session, or None."""
        content = self._files.read((handle, caller))
        try:
            return None if content is None else AgentsState.model_validate_json(content)
        except ValidationError:
            # Another version wrote it.
            return None
