"""The hub: search, load, read a file, run a command. One verb for each tier of disclosure, and no protocol.

Every way in, the MCP tools, the shell and Python, calls these verbs, so that what one serves all serve alike.
"""

from __future__ import annotations

import logging
import threading
import time
import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillhub_mcp.disclosure.parts import split_body
from skillhub_mcp.errors import (
    EmbeddingError,
    IndexUnavailable,
    InvalidArgument,
    SkillDisabled,
    SkillHubError,
    SkillNotFound,
)
from skillhub_mcp.execution.commands import CommandPolicy
from skillhub_mcp.execution.runner import CommandResult, RunLimits, run
from skillhub_mcp.search.analysis import normalise_query
from skillhub_mcp.search.embedders.base import Embedder, Vector
from skillhub_mcp.search.freshness import LiveIndex
from skillhub_mcp.search.lance import IndexDamaged, LanceIndex
from skillhub_mcp.search.looking import Depth, View
from skillhub_mcp.search.ranking import Hit, Reason, cut, full_text_match, order, scaled
from skillhub_mcp.skills.admission import Admission
from skillhub_mcp.skills.documents import read_document
from skillhub_mcp.skills.files import FileContent, FileEntry, ReadLimits, list_files, read_file
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.near import near_names
from skillhub_mcp.skills.registry_index import RegistryIndex, index_of
from skillhub_mcp.skills.roots import Source
from skillhub_mcp.skills.snapshot import Snapshot
from skillhub_mcp.skills.visibility import Visibility

log = logging.getLogger(__name__)

MAX_LIMIT = 100
_CANDIDATES_PER_HIT = 4
_LISTED_NAMES = 20
_REST_AFTER_FAILURE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How many hits a search returns by default, and which share of the best score the others need."""

    limit: int
    threshold: float


@dataclass(frozen=True, slots=True)
class FoundSkill:
    """One hit: the skill, what to load it by, its score in 0..1, and whether text or vectors found it."""

    skill: Skill
    handle: str
    score: float
    reason: Reason


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The hits, best first, and how many skills were searched."""

    hits: tuple[FoundSkill, ...]
    searched: int


@dataclass(frozen=True, slots=True)
class ListedSkill:
    """A skill as a person sees it: whose it is, what to load it by, and which skill has its name instead, if any."""

    skill: Skill
    source: Source
    handle: str
    shadowed_by: Skill | None


@dataclass(frozen=True, slots=True)
class LoadedSkill:
    """A skill and its instructions, or one part of `parts` (counted from 1) where the body is long.

    `handle` is what its files are read by: its name, or `name@source` where another skill has the name.
    """

    skill: Skill
    handle: str
    source: Source
    instructions: str
    part: int
    parts: int


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a search is narrowed to."""

    category: str | None
    source: Source | None


class SkillHub:
    """Finds, loads and uses the skills that one server may serve. Safe to call from several threads."""

    def __init__(
        self,
        live: LiveIndex,
        *,
        visibility: Visibility,
        search: SearchOptions,
        files: ReadLimits,
        max_body_bytes: int,
        commands: CommandPolicy,
        run_limits: RunLimits,
        embedder: Embedder | None,
        environment: Callable[[], dict[str, str]],
    ) -> None:
        self._live = live
        self._visibility = visibility
        self._search = search
        self._files = files
        self._max_body_bytes = max_body_bytes
        self._commands = commands
        self._run_limits = run_limits
        self._embedder = embedder
        self._environment = environment
        self._embedder_rests_until = float("-inf")
        self._lock = threading.Lock()
        self._served: tuple[Snapshot, frozenset[str]] | None = None

    def start(self) -> None:
        """Begin reading the skills in the background."""
        self._live.start()

    def close(self) -> None:
        """Stop the background threads."""
        self._live.close()

    def peek(self) -> View | None:
        """Return the present view, if there is one yet, without waiting."""
        return self._live.peek()

    def refresh(self, depth: Depth = Depth.CHANGES, *, only: Sequence[str] | None = None) -> View:
        """Look at the files now, in this thread, and bring the index in step with them.

        With `only`, paths that changed, nothing else is looked at.
        """
        return self._live.look_now(depth, only=only)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener`, from a thread of the hub, whenever the skills have become others."""
        self._live.on_change(listener)

    def skills(self) -> tuple[Skill, ...]:
        """Return the skills that are served, by name."""
        return tuple(skill for skill in self._live.snapshot().skills if self._visibility.allows(skill))

    def listed(self) -> tuple[ListedSkill, ...]:
        """Return the skills that are served, by name, and after each those that lost its name to it."""
        snapshot = self._live.snapshot()
        winners = {lost.skill.directory: lost.winner for lost in snapshot.report.shadowed}
        allowed = [skill for skill in snapshot.everything if self._visibility.allows(skill)]
        allowed.sort(key=lambda skill: (skill.name, skill.directory in winners))
        return tuple(
            ListedSkill(skill, snapshot.source(skill), snapshot.handle(skill), winners.get(skill.directory))
            for skill in allowed
        )

    def registry_index(self, admission: Admission, *, source: Source | None = None) -> RegistryIndex:
        """Return the present skills, or those of one source, as seed 003's index, as far as this server serves them."""
        return index_of(self._live.judged(admission), source=source, allows=self._visibility.allows)

    def search(
        self, query: str, *, limit: int | None = None, category: str | None = None, source: Source | None = None
    ) -> SearchAnswer:
        """Return the skills that fit `query`, best first (seed 002 §3.2, DECISIONS 18).

        With `source`, those of that source, also where another has their name. A skill that is not for models to
        choose (`disable-model-invocation`) is never found, and can still be loaded by name. Raises InvalidArgument
        for a query without words or a limit outside 1..100, and IndexUnavailable when no index can answer. An
        embedding provider that fails is not an error: full text answers instead.
        """
        text = normalise_query(query)
        if not text:
            raise InvalidArgument("query", "is empty", hint="describe the task in a few words")
        wanted = self._search.limit if limit is None else limit
        if not 1 <= wanted <= MAX_LIMIT:
            raise InvalidArgument("limit", f"must be from 1 to {MAX_LIMIT}")
        view, hits = self._ask(text, wanted * _CANDIDATES_PER_HIT, _Wanted(category, source))
        full_match = full_text_match(len(view.snapshot.everything))
        kept = cut(scaled(order(hits), full_match=full_match), threshold=self._search.threshold, limit=wanted)
        found = ((view.snapshot.at(hit.directory), hit) for hit in kept)
        return SearchAnswer(
            hits=tuple(
                FoundSkill(skill, view.snapshot.handle(skill), hit.score, hit.reason)
                for skill, hit in found
                if skill is not None
            ),
            searched=len(self._findable(view.snapshot)),
        )

    def load(self, skill_name: str, *, part: int = 1) -> LoadedSkill:
        """Return a skill's instructions as its SKILL.md holds them now (seed 002 §3.3).

        Raises SkillNotFound, SkillDisabled, SkillUnreadable, or InvalidArgument for a part that is not there.
        """
        snapshot, skill = self._resolved(skill_name)
        document = read_document(skill)
        parts = split_body(document.instructions, max_bytes=self._max_body_bytes)
        if not 1 <= part <= len(parts):
            raise InvalidArgument("part", f"must be from 1 to {len(parts)} for {skill.name!r}")
        return LoadedSkill(skill, snapshot.handle(skill), snapshot.source(skill), parts[part - 1], part, len(parts))

    def read_file(self, skill_name: str, file_path: str, *, offset: int = 0) -> FileContent:
        """Return a file of the skill, from byte `offset` on (seed 002 §3.4, DECISIONS 24).

        Raises SkillNotFound, SkillDisabled, SkillFileNotFound, PathNotAllowed or InvalidArgument.
        """
        skill = self.skill(skill_name)
        return read_file(skill.directory, file_path, skill=skill.name, limits=self._files, offset=offset)

    def files(self, skill_name: str) -> tuple[tuple[FileEntry, ...], bool]:
        """Return the files of the skill that can be read, and whether there are more than are listed."""
        return list_files(self.skill(skill_name).directory, serve_dotfiles=self._files.serve_dotfiles)

    def run_command(self, skill_name: str, command: str, args: Sequence[str] = ()) -> CommandResult:
        """Run an allowed command in the skill's directory, without a shell (seed 002 §3.5).

        Raises SkillNotFound, SkillDisabled, CommandNotAllowed, CommandUnavailable or InvalidArgument.
        """
        skill = self.skill(skill_name)
        cwd = Path(skill.directory)
        environment = self._environment()
        argv = self._commands.resolve(command, args, cwd=cwd, search_path=environment.get("PATH", ""))
        return run(argv, cwd=cwd, limits=self._run_limits, environment=environment)

    def skill(self, skill_name: str) -> Skill:
        """Return the skill of that name or safe alias, or at `name@source` or a path (DECISIONS 17).

        Raises SkillNotFound or SkillDisabled.
        """
        return self._resolved(skill_name)[1]

    def _resolved(self, skill_name: str) -> tuple[Snapshot, Skill]:
        snapshot = self._live.snapshot()
        name = unicodedata.normalize("NFKC", skill_name).strip()
        skill = snapshot.named(name) or snapshot.named(skill_name)
        if skill is None:
            raise self._not_found(name, snapshot)
        if not self._visibility.allows(skill):
            raise SkillDisabled(skill.name, setting=self._visibility.setting)
        return snapshot, skill

    def _ask(self, text: str, candidates: int, wanted: _Wanted) -> tuple[View, list[Hit]]:
        view, index = self._live.searchable()
        try:
            return view, self._candidates(index, text, candidates, self._among(view.snapshot, wanted))
        except IndexDamaged:
            # Another process may have cleaned this version away: what it published since can answer.
            self._live.forget_index(index)
        view, index = self._live.searchable()
        try:
            return view, self._candidates(index, text, candidates, self._among(view.snapshot, wanted))
        except IndexDamaged as error:
            self._live.forget_index(index)
            raise IndexUnavailable(
                f"The index failed to answer: {error}", hint="call again; if it fails again, run skillhub --reindex"
            ) from error

    def _candidates(self, index: LanceIndex, text: str, limit: int, among: Collection[str]) -> list[Hit]:
        """Ask the vectors first where there are any, and the text where they fail (seed 002 §3.2)."""
        vector = None if index.dimension is None else self._query_vector(text)
        if vector is None or len(vector) != index.dimension:
            return index.search_text(text, limit=limit, among=among)
        return index.search_vector(vector, limit=limit, among=among)

    def _query_vector(self, text: str) -> Vector | None:
        if self._embedder is None or time.monotonic() < self._embedder_rests_until:
            return None
        try:
            return self._embedder.embed_query(text)
        except EmbeddingError as error:
            # Else every search of an outage would wait for the same failure.
            self._embedder_rests_until = time.monotonic() + _REST_AFTER_FAILURE_SECONDS
            log.warning("Searches are answered from text for a while: %s", error.message)
            return None

    def _among(self, snapshot: Snapshot, wanted: _Wanted) -> Collection[str]:
        findable = self._findable(snapshot)
        if wanted.source is not None:
            findable = frozenset(s.directory for s in snapshot.of(wanted.source) if self._offered(s))
        if wanted.category is None:
            return findable
        category = wanted.category.strip().lower()
        found = (snapshot.at(directory) for directory in findable)
        return frozenset(skill.directory for skill in found if skill is not None and skill.category == category)

    def _findable(self, snapshot: Snapshot) -> frozenset[str]:
        with self._lock:
            if self._served is None or self._served[0] is not snapshot:
                offered = frozenset(s.directory for s in snapshot.skills if self._offered(s))
                self._served = (snapshot, offered)
            return self._served[1]

    def _offered(self, skill: Skill) -> bool:
        return self._visibility.allows(skill) and not skill.disable_model_invocation

    def _not_found(self, name: str, snapshot: Snapshot) -> SkillHubError:
        names = [skill.name for skill in snapshot.skills if self._offered(skill)]
        near = near_names(name, names)
        if near:
            hint = "did you mean " + " or ".join(repr(found) for found in near) + "?"
        elif 0 < len(names) <= _LISTED_NAMES:
            hint = "available skills: " + ", ".join(names)
        else:
            hint = "find the name with search_skills" if names else "available skills: (none)"
        return SkillNotFound(name, near=near, hint=hint)
