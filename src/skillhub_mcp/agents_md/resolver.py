"""Which AGENTS.md does one session still need? The first load and every later path, by one set of rules (§5, §6)."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

from skillhub_mcp.agents_md.chain import Chain, read_chain
from skillhub_mcp.agents_md.files import AGENTS_FILE, FoundAgentsFile, Note, find, is_within
from skillhub_mcp.agents_md.reminders import agents_context, resume_reminder
from skillhub_mcp.agents_md.schema import AgentsConfig, AgentsFile, AgentsState, ResolvedAgents
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.project import DEFAULT_MARKERS, Project, find_project


@dataclass(frozen=True, slots=True)
class InitialAgents:
    """What a session begins with: the block as text, and what it was made of. `texts` are paths with what is shown."""

    text: str
    files: tuple[AgentsFile, ...]
    notes: tuple[Note, ...]
    texts: tuple[tuple[str, str], ...]


class AgentsResolver:
    """AGENTS.md as one session knows it. Safe to call from threads.

    `initial` is read once and never again, so that what a model was told at first stays as it was (§7); `resolve` says
    what else applies to a path, without bodies, and says it once. With a `state`, a session goes on where it was saved.
    """

    def __init__(
        self,
        cwd: str | None = None,
        *,
        config: AgentsConfig | None = None,
        home: str | None = None,
        state: AgentsState | None = None,
    ) -> None:
        """Begin in `cwd`, or where the process is. Raises InvalidArgument for a directory that is none."""
        self._config = config or AgentsConfig()
        own = self._config.root
        self.markers: tuple[str, ...] = DEFAULT_MARKERS if own.markers is None else tuple(own.markers)
        self.project = self._find(cwd, os.path.expanduser("~") if home is None else home)
        self._lock = threading.Lock()
        self._first: InitialAgents | None = None
        self._covered: dict[str, None] = dict.fromkeys(() if state is None else state.covered)
        self._loaded: dict[str, int] = {} if state is None else dict(state.loaded)

    def initial(self) -> InitialAgents:
        """Return the block that the session begins with (§5.2); the same one every time."""
        with self._lock:
            if self._first is None:
                self._first = self._begin()
            return self._first

    def resolve(self, target: str) -> ResolvedAgents:
        """Return the AGENTS.md that apply to a file or directory and that this session does not know in this version.

        `target` is absolute or relative to the working directory, and need not exist yet. Outside the root nothing
        applies. What is over the limit of one call comes with the next. Without `initial` nothing is known yet.
        """
        if not (self._config.enabled and self._config.resolver.enabled):
            return ResolvedAgents()
        directory, own = self._directory(target)
        if directory is None:
            return ResolvedAgents()
        with self._lock:
            self._note(own)
            found = self._unknown(self._above(directory), self._loaded)
            files = found[: self._config.resolver.maxFilesPerResolve]
            self._loaded |= {file.path: file.mtimeMs for file in files}
            self._covered |= dict.fromkeys(os.path.dirname(file.path) for file in files)
        return ResolvedAgents(files=tuple(files))

    def is_inside(self, target: str) -> bool:
        """Whether `target` lies in the project at all."""
        return self._directory(target)[0] is not None

    @property
    def state(self) -> AgentsState:
        """What this session knows, for a host to keep."""
        with self._lock:
            return AgentsState(
                cwd=self.project.cwd,
                root=self.project.root,
                markers=self.markers,
                covered=tuple(self._covered),
                loaded=dict(self._loaded),
            )

    def changed(self, saved: AgentsState) -> tuple[AgentsFile, ...]:
        """Return the AGENTS.md from the root to here that `saved` does not know in their present version."""
        if not self._config.enabled:
            return ()
        return tuple(self._unknown(self.project.chain, saved.loaded))

    def resume_diff(self, saved: AgentsState) -> str:
        """Return the reminder of what has changed since `saved`, or nothing (§11.3)."""
        return resume_reminder(saved, self.state, self.changed(saved))

    def _begin(self) -> InitialAgents:
        initial = self._config.initial
        chain = Chain((), (), {})
        if self._config.enabled:
            chain = read_chain(
                self.project.chain, root=self.project.root, max_files=initial.maxFiles, max_bytes=initial.maxBytes
            )
        self._loaded |= chain.seen
        self._covered |= dict.fromkeys(os.path.dirname(file.place.path) for file in chain.files)
        texts = tuple((file.place.path, file.text) for file in chain.files)
        files = tuple(_told(file.place) for file in chain.files)
        return InitialAgents(agents_context(texts, chain.notes), files, chain.notes, texts)

    def _unknown(self, directories: tuple[str, ...], known: dict[str, int]) -> list[AgentsFile]:
        found: list[AgentsFile] = []
        identities: set[tuple[int, int]] = set()
        for directory in directories:
            place = find(directory, root=self.project.root)
            if not isinstance(place, FoundAgentsFile) or place.size == 0 or place.identity in identities:
                continue
            identities.add(place.identity)
            if known.get(place.path) != place.mtime_ms:
                found.append(_told(place))
        return found

    def _note(self, own: str | None) -> None:
        """Take an AGENTS.md that is itself about to be read for known."""
        place = None if own is None else find(own, root=self.project.root)
        if isinstance(place, FoundAgentsFile):
            self._loaded[place.path] = place.mtime_ms

    def _directory(self, target: str) -> tuple[str | None, str | None]:
        """Return the canonical directory that a target lies in, if that is in the project; and again if the target is
        the AGENTS.md there.
        """
        if "\0" in target:
            raise InvalidArgument("path", "holds a NUL")
        path = os.path.join(self.project.cwd, os.path.expanduser(target))
        # Links count where they lead, and what is not there yet as if it were: `..` behind a link is the link's.
        real = os.path.realpath(path)
        directory = real if os.path.isdir(real) else os.path.dirname(real)
        if not is_within(directory, self.project.root):
            return None, None
        return directory, directory if os.path.basename(path) == AGENTS_FILE else None

    def _above(self, directory: str) -> tuple[str, ...]:
        """Return the directories from the root down to `directory`."""
        below = os.path.relpath(directory, self.project.root)
        chain = [self.project.root]
        for name in below.split(os.sep) if below != os.curdir else ():
            chain.append(os.path.join(chain[-1], name))
        return tuple(chain)

    def _find(self, cwd: str | None, home: str) -> Project:
        if cwd is None:
            try:
                cwd = os.getcwd()
            except FileNotFoundError:
                # The directory that we were started in is gone, and with it what its AGENTS.md said.
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


def _told(place: FoundAgentsFile) -> AgentsFile:
    return AgentsFile(path=place.path, mtimeMs=place.mtime_ms, sizeBytes=place.size)
