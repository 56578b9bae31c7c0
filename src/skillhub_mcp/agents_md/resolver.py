"""The AGENTS.md resolver: the initial load of a session and the files that apply to each later path."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

from skillhub_mcp.agents_md.chain import Chain, read_chain
from skillhub_mcp.agents_md.files import (
    AGENTS_FILE,
    FoundAgentsFile,
    Note,
    find_agents_file,
    is_within,
    read_agents_file,
)
from skillhub_mcp.agents_md.known import KnownFiles
from skillhub_mcp.agents_md.reminders import agents_context, resume_reminder
from skillhub_mcp.agents_md.schema import AgentsConfig, AgentsFile, AgentsState, ResolvedAgents
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.project import DEFAULT_MARKERS, Project, find_project


@dataclass(frozen=True, slots=True)
class InitialAgents:
    """The initial load of a session; `text` is the whole block."""

    text: str
    files: tuple[AgentsFile, ...]
    notes: tuple[Note, ...]
    texts: tuple[tuple[str, str], ...]


class AgentsResolver:
    """The AGENTS.md of one session in one working directory; a `state` resumes it. Thread-safe."""

    def __init__(
        self,
        cwd: str | None = None,
        *,
        config: AgentsConfig | None = None,
        home: str | None = None,
        state: AgentsState | None = None,
        known: KnownFiles | None = None,
    ) -> None:
        """Start in `cwd`, or in the process's working directory. Raises InvalidArgument."""
        self._config = config or AgentsConfig()
        markers = self._config.root.markers
        self.markers: tuple[str, ...] = DEFAULT_MARKERS if markers is None else tuple(markers)
        self.project = self._find_project(cwd, expand_home("~") if home is None else home)
        self._lock = threading.Lock()
        self._first: InitialAgents | None = None
        self._known = KnownFiles(state) if known is None else known

    @property
    def enabled(self) -> bool:
        """Whether AGENTS.md files are read at all."""
        return self._config.enabled

    def initial(self) -> InitialAgents:
        """Return the initial block of the session, the same on every call."""
        with self._lock:
            if self._first is None:
                self._first = self._load_initial()
            return self._first

    def resolve(self, target: str) -> ResolvedAgents:
        """Return the AGENTS.md for a path, absolute or relative, that are new or changed for this session."""
        if not (self._config.enabled and self._config.resolver.enabled):
            return ResolvedAgents()
        directory, own = self._directory(target)
        if directory is None:
            return ResolvedAgents()
        self._mark_loaded(own)
        found = self._find(find_project(directory, root=self.project.root).chain)
        return ResolvedAgents(files=self._known.take_unknown(found, most=self._config.resolver.maxFilesPerResolve))

    def is_inside(self, target: str) -> bool:
        """Whether `target` lies in the project."""
        return self._directory(target)[0] is not None

    def read(self, target: str) -> str:
        """Return the whole text of an AGENTS.md of the project. Raises InvalidArgument."""
        own = self._directory(target)[1] if self._config.enabled else None
        place = None if own is None else find_agents_file(own, root=self.project.root)
        text, _ = read_agents_file(place) if isinstance(place, FoundAgentsFile) else ("", None)
        if not text:
            raise InvalidArgument(
                "path", "is not an AGENTS.md with a text in this project", hint="pass a path as it was reported"
            )
        self._mark_loaded(own)
        return text

    @property
    def state(self) -> AgentsState:
        """The state of this session, for the host to save."""
        return self._known.state(cwd=self.project.cwd, root=self.project.root, markers=self.markers)

    def take_up(self, saved: AgentsState) -> tuple[AgentsFile, ...]:
        """Resume a saved state, and return the AGENTS.md down to the working directory that changed since."""
        found = self._find(self.project.chain) if self._config.enabled else []
        changed = tuple(file for file in found if file.mtimeMs != saved.loaded.get(file.path))
        self._known.take_up(saved)
        self._known.add({file.path: file.mtimeMs for file in changed}, covered=[file.directory for file in changed])
        return changed

    def resume_diff(self, saved: AgentsState) -> str:
        """Resume a saved state, and return the reminder of the changes since; "" without changes."""
        return resume_reminder(saved, self.state, self.take_up(saved))

    def _load_initial(self) -> InitialAgents:
        initial = self._config.initial
        chain = Chain((), (), {})
        if self._config.enabled:
            chain = read_chain(
                self.project.chain, root=self.project.root, max_files=initial.maxFiles, max_bytes=initial.maxBytes
            )
        files = tuple(_to_schema(place) for place, _ in chain.files)
        self._known.add(chain.seen, covered=[file.directory for file in files])
        texts = tuple((place.path, text) for place, text in chain.files)
        return InitialAgents(agents_context(texts, chain.notes), files, chain.notes, texts)

    def _find(self, directories: tuple[str, ...]) -> list[AgentsFile]:
        found: dict[tuple[int, int], AgentsFile] = {}
        for directory in directories:
            place = find_agents_file(directory, root=self.project.root)
            if isinstance(place, FoundAgentsFile) and place.size > 0:
                found.setdefault(place.identity, _to_schema(place))
        return list(found.values())

    def _mark_loaded(self, own: str | None) -> None:
        """Mark the AGENTS.md in `own` as loaded: the caller is about to read it."""
        place = None if own is None else find_agents_file(own, root=self.project.root)
        if isinstance(place, FoundAgentsFile):
            self._known.add({place.path: place.mtime_ms})

    def _directory(self, target: str) -> tuple[str | None, str | None]:
        """Return the canonical directory of a target in the project, and again if the target is its AGENTS.md."""
        if "\0" in target:
            raise InvalidArgument("path", "contains a NUL character")
        path = os.path.join(self.project.cwd, expand_home(target))
        # An AGENTS.md that is a link belongs to the directory of the link.
        is_own = os.path.basename(path) == AGENTS_FILE
        real = os.path.realpath(os.path.dirname(path) if is_own else path)
        directory = real if is_own or os.path.isdir(real) else os.path.dirname(real)
        if not is_within(directory, self.project.root):
            return None, None
        return directory, directory if is_own else None

    def _find_project(self, cwd: str | None, home: str) -> Project:
        if cwd is None:
            try:
                cwd = os.getcwd()
            except FileNotFoundError:
                cwd = home
        here = expand_home(cwd)
        if "\0" in cwd or not os.path.isdir(here):
            raise InvalidArgument("cwd", f"{cwd!r} is not a directory")
        override = self._config.root.projectRootOverride or ""
        project = find_project(here, root=override, markers=self.markers, home=home)
        is_top = os.path.dirname(project.root) == project.root
        if is_top and not override and not self._config.root.stopAtFsRoot:
            return find_project(here, root=here)
        return project


def _to_schema(place: FoundAgentsFile) -> AgentsFile:
    return AgentsFile(path=place.path, mtimeMs=place.mtime_ms, sizeBytes=place.size)
