"""The hub: search, load, read a file, run a command. One verb for each tier of disclosure, and no protocol.

Every way in, the MCP tools, the shell and Python, calls these verbs, so that what one serves all serve alike.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillhub_mcp.disclosure.catalogue import Entry
from skillhub_mcp.disclosure.mentions import Mentionable, Resolution, resolve
from skillhub_mcp.disclosure.parts import split_body
from skillhub_mcp.errors import EmbeddingError, IndexUnavailable, InvalidArgument, SkillNotFound
from skillhub_mcp.execution.commands import CommandPolicy
from skillhub_mcp.execution.runner import CommandResult, RunLimits, run
from skillhub_mcp.policy.access import NOTHING_GRANTED, Access, Grant, Policy, Standing
from skillhub_mcp.policy.rules import Act
from skillhub_mcp.search.analysis import normalise_query
from skillhub_mcp.search.embedders.base import Embedder, Vector
from skillhub_mcp.search.freshness import LiveIndex
from skillhub_mcp.search.lance import IndexDamaged, LanceIndex
from skillhub_mcp.search.looking import Depth, View
from skillhub_mcp.search.ranking import Hit, Reason, cut, full_text_match, order, scaled
from skillhub_mcp.skills.admission import Admission
from skillhub_mcp.skills.documents import read_document
from skillhub_mcp.skills.files import FileContent, FileEntry, ReadLimits, list_files, read_file
from skillhub_mcp.skills.model import SKILL_FILE, Skill
from skillhub_mcp.skills.near import not_found
from skillhub_mcp.skills.registry_index import RegistryIndex, index_of
from skillhub_mcp.skills.roots import Source
from skillhub_mcp.skills.snapshot import Settled, Snapshot

log = logging.getLogger(__name__)

MAX_LIMIT = 100
_CANDIDATES_PER_HIT = 4
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
    """A skill as a person sees it: whose it is, what to load it by, and which skill has its name instead, if any.

    `standing` says whether it is served.
    """

    skill: Skill
    source: Source
    handle: str
    shadowed_by: Skill | None
    standing: Standing

    @property
    def served(self) -> bool:
        """Whether an agent may have it."""
        return self.standing is Standing.ON


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
        access: Access,
        search: SearchOptions,
        files: ReadLimits,
        max_body_bytes: int,
        commands: CommandPolicy,
        run_limits: RunLimits,
        embedder: Embedder | None,
        environment: Callable[[], dict[str, str]],
    ) -> None:
        self._live = live
        self._access = access
        self._search = search
        self._files = files
        self._max_body_bytes = max_body_bytes
        self._commands = commands
        self._run_limits = run_limits
        self._embedder = embedder
        self._environment = environment
        self._embedder_rests_until = float("-inf")
        self._lock = threading.Lock()
        self._served: tuple[Snapshot, Policy, frozenset[str]] | None = None

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

    @property
    def access(self) -> Access:
        """Who may load what."""
        return self._access

    def skills(self) -> tuple[Skill, ...]:
        """Return the skills that are served, by name."""
        policy = self._access.now()
        return tuple(skill for skill in self._live.skills_alone().skills if policy.offers(skill))

    def listed(self) -> tuple[ListedSkill, ...]:
        """Return the skills that are served and those that could be, by name.

        After each come those that lost its name to it. What the server's settings leave out is not among them; what
        was switched off or is denied is, with its standing.
        """
        return self._listed(self._live.snapshot())

    def _listed(self, snapshot: Snapshot) -> tuple[ListedSkill, ...]:
        policy = self._access.now()
        winners = {lost.skill.directory: lost.winner for lost in snapshot.report.shadowed}
        listed = [
            ListedSkill(skill, snapshot.source(skill), snapshot.handle(skill), winners.get(skill.directory), standing)
            for skill in snapshot.everything
            if (standing := policy.standing(skill)) is not Standing.FILTERED
        ]
        listed.sort(key=lambda one: (one.skill.name, one.shadowed_by is not None))
        return tuple(listed)

    def catalogue(self) -> tuple[Entry, ...]:
        """Return the skills that a model may choose, by name, as a catalogue has them.

        Skills that always apply are the most important, then those of the stronger source.
        """
        rank = {source: number for number, source in enumerate(Source)}
        return tuple(
            Entry(
                name=one.skill.name,
                description=one.skill.description,
                path=os.path.join(one.skill.directory, SKILL_FILE),
                source=one.source.value,
                scope="repo" if one.source is Source.PROJECT else "user",
                importance=(not one.skill.always_apply, rank[one.source]),
            )
            for one in self._listed(self._live.skills_alone())
            if one.served and one.shadowed_by is None and not one.skill.disable_model_invocation
        )

    def resolve(self, text: str, *, cwd: str) -> Resolution:
        """Return the skills that `text` mentions, as `$name` or by a path from `cwd` (seed 000, goal 4)."""
        copies = {lost.skill.directory for lost in self._live.snapshot().report.shadowed if lost.why is Settled.COPY}
        return resolve(
            text,
            [
                Mentionable(one.skill.name, one.skill.directory, one.handle, on=one.standing is Standing.ON)
                for one in self.listed()
                if one.skill.directory not in copies
            ],
            cwd=cwd,
        )

    def registry_index(self, admission: Admission, *, source: Source | None = None) -> RegistryIndex:
        """Return the present skills, or those of one source, as seed 003's index, as far as this server serves them."""
        return index_of(self._live.judged(admission), source=source, allows=self._access.now().offers)

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

    def load(self, skill_name: str, *, part: int = 1, granted: Collection[Grant] = NOTHING_GRANTED) -> LoadedSkill:
        """Return a skill's instructions as its SKILL.md holds them now (seed 002 §3.3).

        Raises SkillNotFound, SkillUnreadable, InvalidArgument for a part that is not there, and what `Policy.check`
        raises.
        """
        snapshot, skill = self._resolved(skill_name, Act.LOAD, granted)
        document = read_document(skill)
        parts = split_body(document.instructions, max_bytes=self._max_body_bytes)
        if not 1 <= part <= len(parts):
            raise InvalidArgument("part", f"must be from 1 to {len(parts)} for {skill.name!r}")
        return LoadedSkill(skill, snapshot.handle(skill), snapshot.source(skill), parts[part - 1], part, len(parts))

    def read_file(
        self, skill_name: str, file_path: str, *, offset: int = 0, granted: Collection[Grant] = NOTHING_GRANTED
    ) -> FileContent:
        """Return a file of the skill, from byte `offset` on (seed 002 §3.4, DECISIONS 24).

        Raises SkillNotFound, SkillFileNotFound, PathNotAllowed, InvalidArgument, and what `Policy.check` raises.
        """
        skill = self._resolved(skill_name, Act.READ, granted)[1]
        return read_file(skill.directory, file_path, skill=skill.name, limits=self._files, offset=offset)

    def files(
        self, skill_name: str, *, granted: Collection[Grant] = NOTHING_GRANTED
    ) -> tuple[tuple[FileEntry, ...], bool]:
        """Return the files of the skill that can be read, and whether there are more than are listed.

        Raises what `read_file` raises.
        """
        skill = self._resolved(skill_name, Act.READ, granted)[1]
        return list_files(skill.directory, serve_dotfiles=self._files.serve_dotfiles)

    def run_command(
        self,
        skill_name: str,
        command: str,
        args: Sequence[str] = (),
        *,
        granted: Collection[Grant] = NOTHING_GRANTED,
    ) -> CommandResult:
        """Run an allowed command in the skill's directory, without a shell (seed 002 §3.5).

        Raises SkillNotFound, CommandNotAllowed, CommandUnavailable, InvalidArgument, and what `Policy.check` raises.
        """
        skill = self._resolved(skill_name, Act.RUN, granted)[1]
        cwd = Path(skill.directory)
        environment = self._environment()
        argv = self._commands.resolve(command, args, cwd=cwd, search_path=environment.get("PATH", ""))
        return run(argv, cwd=cwd, limits=self._run_limits, environment=environment)

    @staticmethod
    def granting(skill: Skill) -> frozenset[Grant]:
        """Return the grant that having been given a skill's instructions amounts to."""
        return frozenset({(Act.LOAD, skill.directory)})

    def known(self, skill_name: str) -> Skill:
        """Return the skill of that name or safe alias, or at `name@source` or a path, whether served or not.

        Raises SkillNotFound.
        """
        return self._named(skill_name, self._live.skills_alone())

    def _resolved(self, skill_name: str, act: Act, granted: Collection[Grant]) -> tuple[Snapshot, Skill]:
        snapshot = self._live.skills_alone()
        skill = self._named(skill_name, snapshot)
        self._access.now().check(skill, act, granted)
        return snapshot, skill

    def _named(self, skill_name: str, snapshot: Snapshot) -> Skill:
        name = unicodedata.normalize("NFKC", skill_name).strip()
        skill = snapshot.named(name) or snapshot.named(skill_name)
        if skill is None:
            raise self._not_found(name, snapshot)
        return skill

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
            policy = self._access.now()
            findable = frozenset(s.directory for s in snapshot.of(wanted.source) if _findable(s, policy))
        if wanted.category is None:
            return findable
        category = wanted.category.strip().lower()
        found = (snapshot.at(directory) for directory in findable)
        return frozenset(skill.directory for skill in found if skill is not None and skill.category == category)

    def _findable(self, snapshot: Snapshot) -> frozenset[str]:
        policy = self._access.now()
        with self._lock:
            if self._served is None or self._served[0] is not snapshot or self._served[1] is not policy:
                offered = frozenset(s.directory for s in snapshot.skills if _findable(s, policy))
                self._served = (snapshot, policy, offered)
            return self._served[2]

    def _not_found(self, name: str, snapshot: Snapshot) -> SkillNotFound:
        policy = self._access.now()
        return not_found(name, [s.name for s in snapshot.skills if _findable(s, policy)], search_tool="search_skills")


def _findable(skill: Skill, policy: Policy) -> bool:
    return policy.offers(skill) and not skill.disable_model_invocation
