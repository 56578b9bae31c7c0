"""What one session knows of AGENTS.md: the covered directories, and the versions of files that it was shown."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from skillhub_mcp.agents_md.schema import AgentsFile, AgentsState

# A state may come from a client, and is kept as long as its session.
_MAX_TAKEN_UP = 4_096


class KnownFiles:
    """The covered directories and the versions (mtimes in milliseconds by path) that a session knows. Thread-safe.

    All working directories of a session share it, so that no file is reported twice.
    """

    def __init__(self, state: AgentsState | None = None) -> None:
        self._lock = threading.Lock()
        self._covered: dict[str, None] = {}
        self._loaded: dict[str, int] = {}
        self._named: dict[str, int] = {}
        if state is not None:
            self.take_up(state)

    def add(
        self, versions: Mapping[str, int], *, covered: Iterable[str] = (), named: Mapping[str, int] | None = None
    ) -> None:
        """Know these versions and directories from now on; `named` are versions that are yet to be reported."""
        with self._lock:
            self._loaded |= versions
            self._named |= named or {}
            self._covered |= dict.fromkeys(covered)

    def take_up(self, saved: AgentsState) -> None:
        """Know what an earlier session knew, where this one does not know better."""
        with self._lock:
            self._loaded = dict(islice(saved.loaded.items(), _MAX_TAKEN_UP)) | self._loaded
            self._named = dict(islice(saved.named.items(), _MAX_TAKEN_UP)) | self._named
            self._covered = dict.fromkeys(saved.covered[:_MAX_TAKEN_UP]) | self._covered

    def take_unknown(self, files: Sequence[AgentsFile], *, most: int) -> tuple[AgentsFile, ...]:
        """Return the first `most` of `files` that are new or changed; they are known from now on.

        `files` of one directory or of its ancestors: their own directories become covered.
        """
        with self._lock:
            unknown = tuple(islice((file for file in files if self._loaded.get(file.path) != file.mtimeMs), most))
            self._loaded |= {file.path: file.mtimeMs for file in unknown}
            self._covered |= dict.fromkeys(file.directory for file in unknown)
        return unknown

    @property
    def covered(self) -> tuple[str, ...]:
        """The directories whose AGENTS.md the session was shown or named, in that order."""
        with self._lock:
            return tuple(self._covered)

    @property
    def loaded(self) -> dict[str, int]:
        """The mtimes in milliseconds of the versions that the session was shown or named, by path."""
        with self._lock:
            return dict(self._loaded)

    @property
    def named(self) -> dict[str, int]:
        """The mtimes in milliseconds of the versions that the first block named beyond its limits, by path."""
        with self._lock:
            return dict(self._named)
