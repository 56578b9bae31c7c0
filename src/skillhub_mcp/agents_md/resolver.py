"""The AGENTS.md resolver: the initial load of a session and the files that apply to each later path."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

from skillhub_mcp.agents_md.chain import Chain, read_chain
from skillhub_mcp.agents_md.files import AGENTS_FILE, FoundAgentsFile, Note, find_agents_file, is_within
from skillhub_mcp.agents_md.reminders import agents_context, resume_reminder
from skillhub_mcp.agents_md.schema import AgentsConfig, AgentsFile, AgentsState, ResolvedAgents
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.project import DEFAULT_MARKERS, Project, find_project


@dataclass(frozen=True, slots=True)
class InitialAgents:
    """The initial load of a session: the block as text, the files, the notes, and the shown texts with their paths."""

    text: str
    files: tuple[AgentsFile, ...]
    notes: tuple[Note, ...]
    texts: tuple[tuple[str, str], ...]


class AgentsResolver:
    """The AGENTS.md of one session. Thread-safe.

    `initial` is read once, so that the start of a model's context never changes. `resolve` returns the further files
    that apply to a path, without bodies, and each version only once. With a `state`, a saved session is resumed.
    """

    def __init__(
        self,
        cwd: str | None = None,
        *,
        config: AgentsConfig | None = None,
        home: str | None = None,
        state: AgentsState | None = None,
    ) -> None:
        """Start in `cwd`, or in the process's working directory. Raises InvalidArgument if that is not a directory."""
        self._config = config or AgentsConfig()
        markers = self._config.root.markers
        self.markers: tuple[str, ...] = DEFAULT_MARKERS if markers is None else tuple(markers)
        self.project = self._find_project(cwd, os.path.expanduser("~") if home is None else home)
        self._lock = threading.Lock()
        self._first: InitialAgents | None = None
        self._covered: dict[str, None] = dict.fromkeys(() if state is None else state.covered)
        self._loaded: dict[str, int] = {} if state is None else dict(state.loaded)

    def initial(self) -> InitialAgents:
        """Return the initial block of the session, the same on every call."""
        with self._lock:
            if self._first is None:
                self._first = self._load_initial()
            return self._first

    def resolve(self, target: str) -> ResolvedAgents:
        """Return the AGENTS.md that apply to a file or directory and that are new or changed for this session.

        `target` is absolute or relative to the working directory, and need not exist. Outside the root, nothing
        applies. Files beyond `maxFilesPerResolve` are returned by the next call. Before `initial`, every file is new.
        """
        if not (self._config.enabled and self._config.resolver.enabled):
            return ResolvedAgents()
        directory, own = self._directory(target)
        if directory is None:
            return ResolvedAgents()
        with self._lock:
            self._mark_loaded(own)
            found = self._unknown(self._chain_to(directory), self._loaded)
            files = found[: self._config.resolver.maxFilesPerResolve]
            self._loaded |= {file.path: file.mtimeMs for file in files}
            self._covered |= dict.fromkeys(os.path.dirname(file.path) for file in files)
        return ResolvedAgents(files=tuple(files))

    def is_inside(self, target: str) -> bool:
        """Whether `target` lies in the project."""
        return self._directory(target)[0] is not None

    @property
    def state(self) -> AgentsState:
        """The state of this session, for the host to save."""
        with self._lock:
            return AgentsState(
                cwd=self.project.cwd,
                root=self.project.root,
                markers=self.markers,
                covered=tuple(self._covered),
                loaded=dict(self._loaded),
            )

    def changed(self, saved: AgentsState) -> tuple[AgentsFile, ...]:
        """Return the AGENTS.md from the root to the working directory that are new or changed since `saved`."""
        if not self._config.enabled:
            return ()
        return tuple(self._unknown(self.project.chain, saved.loaded))

    def resume_diff(self, saved: AgentsState) -> str:
        """Return the reminder of the changes since `saved`; "" if there are none."""
        return resume_reminder(saved, self.state, self.changed(saved))

    def _load_initial(self) -> InitialAgents:
        initial = self._config.initial
        chain = Chain((), (), {})
        if self._config.enabled:
            chain = read_chain(
                self.project.chain, root=self.project.root, max_files=initial.maxFiles, max_bytes=initial.maxBytes
            )
        self._loaded |= chain.seen
        self._covered |= dict.fromkeys(os.path.dirname(file.place.path) for file in chain.files)
        texts = tuple((file.place.path, file.text) for file in chain.files)
        files = tuple(_to_schema(file.place) for file in chain.files)
        return InitialAgents(agents_context(texts, chain.notes), files, chain.notes, texts)

    def _unknown(self, directories: tuple[str, ...], known: dict[str, int]) -> list[AgentsFile]:
        found: list[AgentsFile] = []
        identities: set[tuple[int, int]] = set()
        for directory in directories:
            place = find_agents_file(directory, root=self.project.root)
            if not isinstance(place, FoundAgentsFile) or place.size == 0 or place.identity in identities:
                continue
            identities.add(place.identity)
            if known.get(place.path) != place.mtime_ms:
                found.append(_to_schema(place))
        return found

    def _mark_loaded(self, own: str | None) -> None:
        """Mark the AGENTS.md in the directory `own` as loaded: it is the target, so the caller is about to read it."""
        place = None if own is None else find_agents_file(own, root=self.project.root)
        if isinstance(place, FoundAgentsFile):
            self._loaded[place.path] = place.mtime_ms

    def _directory(self, target: str) -> tuple[str | None, str | None]:
        """Return the canonical directory of a target, if it lies in the project; and again if the target is the
        AGENTS.md of that directory.
        """
        if "\0" in target:
            raise InvalidArgument("path", "contains a NUL character")
        path = os.path.join(self.project.cwd, os.path.expanduser(target))
        # Links are resolved, so that `..` after a link is the parent of its target. The target need not exist.
        real = os.path.realpath(path)
        directory = real if os.path.isdir(real) else os.path.dirname(real)
        if not is_within(directory, self.project.root):
            return None, None
        return directory, directory if os.path.basename(path) == AGENTS_FILE else None

    def _chain_to(self, directory: str) -> tuple[str, ...]:
        """Return the directories from the root down to `directory`."""
        relative = os.path.relpath(directory, self.project.root)
        chain = [self.project.root]
        for name in relative.split(os.sep) if relative != os.curdir else ():
            chain.append(os.path.join(chain[-1], name))
        return tuple(chain)

    def _find_project(self, cwd: str | None, home: str) -> Project:
        if cwd is None:
            try:
                cwd = os.getcwd()
            except FileNotFoundError:
                # The process's working directory has been removed, together with its AGENTS.md.
                cwd = home
        here = os.path.expanduser(cwd)
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
