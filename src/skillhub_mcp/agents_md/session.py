"""AGENTS.md in one session, which may work in several directories, and states of sessions in files to go on from."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from pydantic import ValidationError

from skillhub_mcp._util.private_files import PrivateFiles
from skillhub_mcp.agents_md.known import KnownFiles
from skillhub_mcp.agents_md.resolver import AgentsResolver
from skillhub_mcp.agents_md.schema import AgentsState
from skillhub_mcp.environment import expand_home

# Bounds the memory of a session; a directory that is dropped is read again when it is named again.
_MAX_DIRECTORIES = 16

MakeResolver = Callable[[str, KnownFiles], AgentsResolver]


class AgentsSession:
    """A resolver for each working directory of a session; together they know what it was shown. Thread-safe.

    `make_resolver` returns the resolver of a directory, "" for the session's own. The directory that was entered last
    is the one from which relative paths count.
    """

    def __init__(self, make_resolver: MakeResolver) -> None:
        self.known = KnownFiles()
        self._make_resolver = make_resolver
        self._lock = threading.Lock()
        self._own: AgentsResolver | None = None
        self._resolvers: dict[str, AgentsResolver] = {}

    def enter(self, cwd: str = "") -> AgentsResolver:
        """Return the resolver of a working directory, "" for the session's own. Raises InvalidArgument."""
        with self._lock:
            if not cwd and self._own is not None:
                return self._moved_last(self._own)
            made = self._make_resolver(cwd, self.known)
            used = self._moved_last(self._resolvers.get(made.project.cwd, made))
            if not cwd:
                self._own = used
            for other in list(self._resolvers)[:-_MAX_DIRECTORIES]:
                del self._resolvers[other]
            return used

    def current(self) -> AgentsResolver:
        """Return the resolver of the directory entered last; without one, enter the session's own."""
        with self._lock:
            entered = [*self._resolvers.values()]
        return entered[-1] if entered else self.enter()

    def of_path(self, path: str) -> AgentsResolver:
        """Return the resolver of the project with an absolute path, the innermost; else the current one."""
        current = self.current()
        if not os.path.isabs(expand_home(path)):
            return current
        holding = [resolver for resolver in self.resolvers if resolver.is_inside(path)]
        # Of equals the one entered last.
        return max(reversed(holding), key=lambda resolver: len(resolver.project.root), default=current)

    @property
    def resolvers(self) -> tuple[AgentsResolver, ...]:
        """The resolvers of all working directories, the one entered last at the end."""
        with self._lock:
            return tuple(self._resolvers.values())

    def _moved_last(self, resolver: AgentsResolver) -> AgentsResolver:
        self._resolvers.pop(resolver.project.cwd, None)
        self._resolvers[resolver.project.cwd] = resolver
        return resolver


_MAX_SESSIONS = 1_000


class SavedSessions:
    """States by handle and caller, in `directory`, so that no caller takes up another's session.

    A state has paths and mtimes, and nothing of any file. Beyond a thousand, those saved longest ago are removed; such
    a session is shown everything again.
    """

    def __init__(self, directory: str) -> None:
        self._files = PrivateFiles(directory, most=_MAX_SESSIONS)

    def save(self, handle: str, state: AgentsState, *, caller: str) -> None:
        """Save the state of a session in place of its earlier one. Raises OSError."""
        self._files.write((handle, caller), state.model_dump_json().encode())

    def find(self, handle: str, *, caller: str) -> AgentsState | None:
        """Return the saved state of a session, or None if none of that handle is known for the caller."""
        content = self._files.read((handle, caller))
        try:
            return None if content is None else AgentsState.model_validate_json(content)
        except ValidationError:
            # A state that another version wrote is like one that was removed.
            return None
