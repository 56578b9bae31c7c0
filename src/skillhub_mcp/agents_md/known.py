"""What one session knows of AGENTS.md: covered directories, and versions of files."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from skillhub_mcp.agents_md.schema import AgentsFile, AgentsState

_MAX_TAKEN_UP = 4_096


class KnownFiles:
    """The covered directories and the versions (mtimes in milliseconds by path) that a session knows. Thread-safe."""

    def __init__(self, state: AgentsState | None = None) -> None:
        self._lock = threading.Lock()
        self._covered: dict[str, None] = {}
        self._loaded: dict[str, int] = {}
        if state is not None:
            self.take_up(state)

    def add(self, versions: Mapping[str, int], *, covered: Iterable[str] = ()) -> None:
        """Add versions and directories."""
        with self._lock:
            self._loaded |= versions
            self._covered |= dict.fromkeys(covered)

    def take_up(self, saved: AgentsState) -> None:
        """Add what an earlier session knew, unless this one knows better."""
        with self._lock:
            self._loaded = dict(islice(saved.loaded.items(), _MAX_TAKEN_UP)) | self._loaded
            self._covered = dict.fromkeys(saved.covered[:_MAX_TAKEN_UP]) | self._covered

    def take_unknown(self, files: Sequence[AgentsFile], *, most: int) -> tuple[AgentsFile, ...]:
        """Return the first `most` of `files` that are new or changed, and add them and their directories."""
        with self._lock:
            unknown = tuple(islice((file for file in files if self._loaded.get(file.path) != file.mtimeMs), most))
            self._loaded |= {file.path: file.mtimeMs for file in unknown}
            self._covered |= dict.fromkeys(file.directory for file in unknown)
        return unknown

    def state(self, *, cwd: str, root: str, markers: tuple[str, ...]) -> AgentsState:
        """Return the state of the session in one working directory, for the host to save."""
        with self._lock:
            covered, loaded = tuple(self._covered), dict(self._loaded)
        return AgentsState(cwd=cwd, root=root, markers=markers, covered=covered, loaded=loaded)
