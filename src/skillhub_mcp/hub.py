"""The hub: search, load, read a file, run a command. One verb for each tier of disclosure, and no protocol.

Every way in, the MCP tools, the shell and Python, calls these verbs, so that what one serves all serve alike.
"""

from __future__ import annotations

import logging
import os
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillhub_mcp.analysis.analyzer import normalise_query, tokens
from skillhub_mcp.disclosure.catalogue import CatalogueEntry
from skillhub_mcp.disclosure.mentions import Mentionable, Resolution, resolve
from skillhub_mcp.disclosure.parts import split_body
from skillhub_mcp.errors import ExecutionTimeout, IndexUnavailable, InvalidArgument, SkillNotFound
from skillhub_mcp.events import NULL_OBSERVER, Observer, SearchEvent, UseEvent, observe
from skillhub_mcp.execution.command_policy import CommandPolicy
from skillhub_mcp.execution.runner import CommandResult, RunLimits, run
from skillhub_mcp.index.lance import NO_FILTER, Filter, IndexDamaged, LanceIndex
from skillhub_mcp.index.live_index import LiveIndex
from skillhub_mcp.index.progress import IndexProgress
from skillhub_mcp.index.sync import SyncDepth, View
from skillhub_mcp.policy.access import NOTHING_GRANTED, Access, Availability, Grant, Policy
from skillhub_mcp.policy.rules import Action
from skillhub_mcp.search.answer_cache import AnswerCache
from skillhub_mcp.search.facets import Facets, facets_of
from skillhub_mcp.search.ranking import NEAR_MISSES, Reason, confident, cut_tail
from skillhub_mcp.search.scoring import Contribution
from skillhub_mcp.search.searcher import RetrievalMode, Searcher, SearchResult, without_copies
from skillhub_mcp.skills.admission import Admission
from skillhub_mcp.skills.documents import read_document
from skillhub_mcp.skills.files import FileContent, FileEntry, ReadLimits, list_files, read_file, read_whole
from skillhub_mcp.skills.model import SKILL_FILE, Skill
from skillhub_mcp.skills.names import safe_alias
from skillhub_mcp.skills.registry_index import RegistryIndex, index_of
from skillhub_mcp.skills.roots import Source
from skillhub_mcp.skills.snapshot import ShadowReason, Snapshot
from skillhub_mcp.skills.suggestions import not_found
from skillhub_mcp.usage import UsageLog

log = logging.getLogger(__name__)

MAX_LIMIT = 100
_CANDIDATES_PER_HIT = 4
_WORDS_OF_A_REASON = 3
# Callers with filters of their own have a set of skills each, which takes a while to make of 100,000.
_KEPT_POLICIES = 32
_KEPT_ANSWERS = 512
# What people ask; a program may send a page.
_SHORT_QUERY = 200


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How many hits a search returns by default, which share of the best score the others need, and from which score
    on the best is said to fit.
    """

    limit: int
    threshold: float
    confidence: float = 0.5


@dataclass(frozen=True, slots=True)
class FoundSkill:
    """One hit: the skill, what to load it by, its score in 0..1, and whether text or vectors found it.

    `matched` are the words of the query that it has, what counts most first; `copies` are what skills that say nearly
    the same are loaded by; `contributions` are there when they were asked for.
    """

    skill: Skill
    handle: str
    score: float
    reason: Reason | None
    matched: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    contributions: tuple[Contribution, ...] = ()

    @property
    def why(self) -> str:
        """In a few words what found it: the words of the query that it has, or its meaning."""
        return ", ".join(self.matched[:_WORDS_OF_A_REASON]) or ("" if self.reason is None else "meaning")


@dataclass(frozen=True, slots=True)
class _Wish:
    """What is asked for: a normalised text, how many hits at most, and among which skills."""

    text: str
    limit: int
    narrowing: Filter = NO_FILTER
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The hits, best first, and how many skills were searched of those that are served.

    `considered` were candidates. Where not `confident`, nothing fits well and the hits are near misses. `facets` are
    there when nothing was asked for and the hits are a list by name, out of `searched`.
    """

    hits: tuple[FoundSkill, ...]
    searched: int
    served: int
    considered: int = 0
    confident: bool = True
    facets: Facets | None = None


@dataclass(frozen=True, slots=True)
class ListedSkill:
    """A skill as a person sees it: whose it is, what to load it by, and which skill has its name instead, if any.

    `standing` says whether it is served.
    """

    skill: Skill
    source: Source
    handle: str
    shadowed_by: Skill | None
    standing: Availability

    @property
    def served(self) -> bool:
        """Whether an agent may have it."""
        return self.standing is Availability.ON


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
        searcher: Searcher,
        environment: Callable[[], dict[str, str]],
        usage: UsageLog | None = None,
        observer: Observer = NULL_OBSERVER,
    ) -> None:
        self._live = live
        self._access = access
        self._search = search
        self._files = files
        self._max_body_bytes = max_body_bytes
        self._commands = commands
        self._run_limits = run_limits
        self._searcher = searcher
        self._environment = environment
        self._usage = usage
        self._observer = observer
        self._lock = threading.Lock()
        self._recent = AnswerCache[tuple[SearchAnswer, RetrievalMode]](_KEPT_ANSWERS)
        self._served: tuple[Snapshot, OrderedDict[int, tuple[Policy, frozenset[str]]]] | None = None

    def start(self) -> None:
        """Begin reading the skills in the background."""
        self._live.start()

    def close(self) -> None:
        """Stop the background threads."""
        self._live.close()

    def peek(self) -> View | None:
        """Return the present view, if there is one yet, without waiting."""
        return self._live.peek()

    def refresh(self, depth: SyncDepth = SyncDepth.CHANGES, *, only: Sequence[str] | None = None) -> View:
        """Look at the files now, in this thread, and bring the index in step with them.

        With `only`, paths that changed, nothing else is looked at.
        """
        return self._live.look_now(depth, only=only)

    @property
    def steps(self) -> IndexProgress:
        """What tells how far the index is."""
        return self._live.steps

    def answers(self, query: str) -> bool:
        """Whether a search for `query` would be answered, or refused, without waiting for the first index."""
        return self._live.answers() or not tokens(normalise_query(query))

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener`, from a thread of the hub, whenever the skills have become others."""
        self._live.on_change(listener)

    def on_look(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each look, from whichever thread looked: some file of a skill may be another now."""
        self._live.on_look(listener)

    @property
    def access(self) -> Access:
        """Who may load what."""
        return self._access

    @property
    def observer(self) -> Observer:
        """Who hears of what it does."""
        return self._observer

    def present(self, *, as_last_seen: bool = False) -> tuple[Snapshot, Policy]:
        """Return the skills that are there, and what may be done with each now.

        As they were `as_last_seen`, nobody is asked to look again.
        """
        view = self._live.peek() if as_last_seen else None
        return self._live.skills_alone() if view is None else view.snapshot, self._access.now()

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
            if (standing := policy.standing(skill)) is not Availability.FILTERED
        ]
        listed.sort(key=lambda one: (one.skill.name, one.shadowed_by is not None))
        return tuple(listed)

    def catalogue(self) -> tuple[CatalogueEntry, ...]:
        """Return the skills that a model may choose, by name, as a catalogue has them.

        Skills that always apply are the most important, then those of the stronger source.
        """
        rank = {source: number for number, source in enumerate(Source)}
        return tuple(
            CatalogueEntry(
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
        copies = {
            lost.skill.directory for lost in self._live.snapshot().report.shadowed if lost.why is ShadowReason.COPY
        }
        return resolve(
            text,
            [
                Mentionable(one.skill.name, one.skill.directory, one.handle, on=one.standing is Availability.ON)
                for one in self.listed()
                if one.skill.directory not in copies
            ],
            cwd=cwd,
        )

    def registry_index(self, admission: Admission, *, source: Source | None = None) -> RegistryIndex:
        """Return the present skills, or those of one source, as seed 003's index, as far as this server serves them."""
        return index_of(
            self._live.judged(admission),
            source=source,
            allows=self._access.now().offers,
            whole=self._access.sees_everything(),
        )

    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        category: str | None = None,
        tags: Sequence[str] = (),
        source: Source | None = None,
        explain: bool = False,
    ) -> SearchAnswer:
        """Return the skills that fit `query`, best first (seed 002 §3.2, DECISIONS 18-21).

        Of a `category`, with all of `tags`, in any case; with `source`, those of that source, also where another has
        their name. A query without a letter or digit lists by name, with facets. A skill whose name is asked for comes
        first. Where nothing fits well the answer says so and holds near misses only. A skill that is not for models to
        choose (`disable-model-invocation`) is never found, and can still be loaded by name. Raises InvalidArgument for
        a limit outside 1..100, and IndexUnavailable when no index can answer. An embedding provider that fails is not
        an error: full text answers instead.
        """
        wanted = self._search.limit if limit is None else limit
        wish = _Wish(normalise_query(query), wanted, Filter.to(category, tags), source)
        with observe(self._observer, SearchEvent()) as search:
            if not 1 <= wanted <= MAX_LIMIT:
                raise InvalidArgument("limit", f"must be from 1 to {MAX_LIMIT}")
            policy = self._access.now()
            if not tokens(wish.text):
                answer = self._listing(wish, policy)
            else:
                answer, search.mode = self._explained(wish, policy) if explain else self._answered(wish, policy)
                if self._usage is not None:
                    self._usage.record_search(
                        wish.text, [one.handle for one in answer.hits], confident=answer.confident
                    )
            _tell(search, answer)
        return answer

    def search_at_once(self, query: str, *, limit: int | None = None) -> SearchAnswer | None:
        """Return what `search` would, where it waits for no look, provider or log; else None.

        Such a search takes less time than handing it to a thread does. Raises PolicyUnreadable.
        """
        hand = self._live.at_hand()
        wish = _Wish(normalise_query(query), self._search.limit if limit is None else limit)
        usual = 1 <= wish.limit <= MAX_LIMIT and len(query) <= _SHORT_QUERY and tokens(wish.text)
        if hand is None or not usual or self._usage is not None or not self._searcher.asks_nobody(hand[1]):
            return None
        policy = self._access.now()
        if not self._has_findable(hand[0].snapshot, policy):
            return None
        with observe(self._observer, SearchEvent()) as search:
            answer, search.mode = self._answered(wish, policy, hand)
            _tell(search, answer)
        return answer

    def _answered(
        self, wish: _Wish, policy: Policy, hand: tuple[View, LanceIndex] | None = None
    ) -> tuple[SearchAnswer, RetrievalMode]:
        """Return the answer, the one that was given before where nothing it depends on has changed since.

        It comes from what is at `hand`, where anything is.
        """
        view, index = hand or self._live.searchable()
        known = self._recent.get((view.snapshot, index), policy, wish)
        if known is not None:
            return known
        view, index, found = self._ask(wish, policy, hand)
        answer = (self._answer(wish, policy, view.snapshot, found), found.mode)
        if found.lasting:
            self._recent.keep((view.snapshot, index), policy, wish, answer)
        return answer

    def _explained(self, wish: _Wish, policy: Policy) -> tuple[SearchAnswer, RetrievalMode]:
        view, index, found = self._ask(wish, policy)
        answer = self._answer(wish, policy, view.snapshot, found)
        contributions = self._searcher.explain(index, found, [hit.skill.directory for hit in answer.hits])
        hits = (replace(hit, contributions=tuple(own)) for hit, own in zip(answer.hits, contributions, strict=True))
        return replace(answer, hits=tuple(hits)), found.mode

    def _answer(self, wish: _Wish, policy: Policy, snapshot: Snapshot, found: SearchResult) -> SearchAnswer:
        hits = cut_tail(without_copies(found), threshold=self._search.threshold, limit=wish.limit)
        fits = confident(hits, threshold=self._search.confidence)
        shown = hits if fits else hits[:NEAR_MISSES]
        answered = []
        for hit, matched in zip(shown, found.matched([hit.directory for hit in shown]), strict=True):
            skill = snapshot.at(hit.directory)
            if skill is not None:
                copies = (snapshot.at(directory) for directory in found.copies.get(hit.directory, ()))
                handles = tuple(snapshot.handle(copy) for copy in copies if copy is not None)
                handle = snapshot.handle(skill)
                answered.append(FoundSkill(skill, handle, hit.score, hit.reason, tuple(matched), handles))
        return SearchAnswer(
            hits=tuple(answered),
            searched=len(self._among(snapshot, policy, wish)),
            served=len(self._findable(snapshot, policy)),
            considered=len(found.candidates),
            confident=fits,
        )

    def _listing(self, wish: _Wish, policy: Policy) -> SearchAnswer:
        snapshot = self._live.snapshot()
        among = self._among(snapshot, policy, wish)
        skills = sorted((s for s in map(snapshot.at, among) if s is not None), key=lambda s: (s.name, s.directory))
        return SearchAnswer(
            hits=tuple(FoundSkill(skill, snapshot.handle(skill), 0.0, None) for skill in skills[: wish.limit]),
            searched=len(skills),
            served=len(self._findable(snapshot, policy)),
            facets=facets_of(skills, [snapshot.source(skill).value for skill in skills]),
        )

    def load(self, skill_name: str, *, part: int = 1, granted: Collection[Grant] = NOTHING_GRANTED) -> LoadedSkill:
        """Return a skill's instructions as its SKILL.md holds them now (seed 002 §3.3).

        Raises SkillNotFound, SkillUnreadable, InvalidArgument for a part that is not there, and what `Policy.check`
        raises.
        """
        with observe(self._observer, UseEvent(action="load", skill=skill_name)) as use:
            snapshot, skill = self._resolved(skill_name, Action.LOAD, granted, use)
            document = read_document(skill)
            parts = split_body(document.instructions, max_bytes=self._max_body_bytes)
            use.part = part if len(parts) > 1 else None
            if not 1 <= part <= len(parts):
                raise InvalidArgument("part", f"must be from 1 to {len(parts)} for {skill.name!r}")
            use.size = len(parts[part - 1])
        if self._usage is not None and part == 1:
            self._usage.record_load(snapshot.handle(skill))
        return LoadedSkill(skill, snapshot.handle(skill), snapshot.source(skill), parts[part - 1], part, len(parts))

    def read_file(
        self, skill_name: str, file_path: str, *, offset: int = 0, granted: Collection[Grant] = NOTHING_GRANTED
    ) -> FileContent:
        """Return a file of the skill, from byte `offset` on (seed 002 §3.4, DECISIONS 24).

        Raises SkillNotFound, SkillFileNotFound, PathNotAllowed, InvalidArgument, and what `Policy.check` raises.
        """
        with observe(self._observer, UseEvent(action="read", skill=skill_name, file_path=file_path)) as use:
            snapshot, skill = self._resolved(skill_name, Action.READ, granted, use)
            content = read_file(skill.directory, file_path, skill=skill.name, limits=self._files, offset=offset)
            use.size = (content.size if content.next_offset is None else content.next_offset) - content.offset
        if self._usage is not None:
            self._usage.record_read(snapshot.handle(skill), file_path)
        return content

    def read_bytes(
        self, skill: Skill, file_path: str, *, max_bytes: int, granted: Collection[Grant] = NOTHING_GRANTED
    ) -> bytes:
        """Return all of a file, byte for byte, of a skill that `present` has told of.

        Its SKILL.md counts as loading it. Raises what `read_file` raises; a file of more than `max_bytes` counts as not
        found.
        """
        loads = file_path == SKILL_FILE
        snapshot = self._live.skills_alone()
        handle, source = snapshot.handle(skill), snapshot.source(skill).value
        use = UseEvent(action="load" if loads else "read", skill=handle, source=source, file_path=file_path)
        with observe(self._observer, use):
            self._access.now().check(skill, Action.LOAD if loads else Action.READ, granted)
            content = read_whole(
                skill.directory,
                file_path,
                skill=skill.name,
                max_bytes=max_bytes,
                serve_dotfiles=self._files.serve_dotfiles,
            )
            use.size = len(content)
        if self._usage is not None:
            if loads:
                self._usage.record_load(handle)
            else:
                self._usage.record_read(handle, file_path)
        return content

    def files(
        self, skill_name: str, *, granted: Collection[Grant] = NOTHING_GRANTED
    ) -> tuple[tuple[FileEntry, ...], bool]:
        """Return the files of the skill that can be read, and whether there are more than are listed.

        Raises what `read_file` raises.
        """
        skill = self._resolved(skill_name, Action.READ, granted)[1]
        return list_files(skill.directory, serve_dotfiles=self._files.serve_dotfiles)

    def run_command(
        self,
        skill_name: str,
        command: str,
        args: Sequence[str] = (),
        *,
        granted: Collection[Grant] = NOTHING_GRANTED,
        stop: threading.Event | None = None,
    ) -> CommandResult:
        """Run an allowed command in the skill's directory, without a shell (seed 002 §3.5).

        It is killed with all that it started when `stop` is set. Raises SkillNotFound, CommandNotAllowed,
        CommandUnavailable, InvalidArgument, and what `Policy.check` raises.
        """
        with observe(self._observer, UseEvent(action="run", skill=skill_name, command=command)) as use:
            skill = self._resolved(skill_name, Action.RUN, granted, use)[1]
            cwd = Path(skill.directory)
            environment = self._environment()
            argv = self._commands.resolve(command, args, cwd=cwd, search_path=environment.get("PATH", ""))
            result = run(argv, cwd=cwd, limits=self._run_limits, environment=environment, stop=stop)
            use.exit_code = result.exit_code
            if result.timeout:
                use.outcome = ExecutionTimeout.code
        return result

    @staticmethod
    def granting(skill: Skill) -> frozenset[Grant]:
        """Return the grant that having been given a skill's instructions amounts to."""
        return frozenset({(Action.LOAD, skill.directory)})

    def known(self, skill_name: str) -> Skill:
        """Return the skill of that name or safe alias, or at `name@source` or a path, whether served or not.

        Raises SkillNotFound.
        """
        return self._named(skill_name)[1]

    def _resolved(
        self, skill_name: str, act: Action, granted: Collection[Grant], use: UseEvent | None = None
    ) -> tuple[Snapshot, Skill]:
        snapshot, skill = self._named(skill_name)
        if use is not None:
            # Known before it is decided, so that a refusal is told of with the skill that it was about.
            use.skill, use.source = snapshot.handle(skill), snapshot.source(skill).value
        self._access.now().check(skill, act, granted)
        return snapshot, skill

    def _named(self, skill_name: str) -> tuple[Snapshot, Skill]:
        name = unicodedata.normalize("NFKC", skill_name).strip()
        snapshot = self._live.skills_alone()
        skill = snapshot.named(name) or snapshot.named(skill_name)
        if skill is None:
            snapshot = self._live.skills_alone(anew=True)
            skill = snapshot.named(name) or snapshot.named(skill_name)
        if skill is None or self._access.hides(skill):
            raise self._not_found(name, snapshot)
        return snapshot, skill

    def _ask(
        self, wish: _Wish, policy: Policy, hand: tuple[View, LanceIndex] | None = None
    ) -> tuple[View, LanceIndex, SearchResult]:
        def asked(hand: tuple[View, LanceIndex] | None = None) -> tuple[View, LanceIndex, SearchResult]:
            view, index = hand or self._live.searchable()
            among = self._among(view.snapshot, policy, wish)

            def described(directory: str) -> tuple[str, str]:
                skill = view.snapshot.at(directory)
                return ("", "") if skill is None else (skill.name, skill.description)

            try:
                found = self._searcher.search(
                    index,
                    wish.text,
                    limit=wish.limit * _CANDIDATES_PER_HIT,
                    among=among,
                    narrowing=wish.narrowing,
                    describe=described,
                    named=_named_like(wish.text, view.snapshot),
                )
            except IndexDamaged:
                # Another process may have cleaned this version away: what it published since can answer.
                self._live.forget_index(index)
                raise
            return view, index, found

        try:
            return asked(hand)
        except IndexDamaged:
            log.info("The index failed to answer and is opened anew")
        try:
            return asked()
        except IndexDamaged as error:
            raise IndexUnavailable(
                f"The index failed to answer: {error}", hint="call again; if it fails again, run skillhub --reindex"
            ) from error

    def _among(self, snapshot: Snapshot, policy: Policy, wish: _Wish) -> frozenset[str]:
        findable = self._findable(snapshot, policy)
        if wish.source is not None:
            findable = frozenset(s.directory for s in snapshot.of(wish.source) if _findable(s, policy))
        if not wish.narrowing:
            return findable
        found = (snapshot.at(directory) for directory in findable)
        return frozenset(skill.directory for skill in found if skill is not None and wish.narrowing.takes(skill))

    def _findable(self, snapshot: Snapshot, policy: Policy) -> frozenset[str]:
        with self._lock:
            if self._served is None or self._served[0] is not snapshot:
                self._served = (snapshot, OrderedDict())
            kept = self._served[1]
            # A policy that is kept keeps its number, so no other one can have it.
            if id(policy) not in kept:
                kept[id(policy)] = (policy, frozenset(s.directory for s in snapshot.skills if _findable(s, policy)))
            kept.move_to_end(id(policy))
            while len(kept) > _KEPT_POLICIES:
                kept.popitem(last=False)
            return kept[id(policy)][1]

    def _has_findable(self, snapshot: Snapshot, policy: Policy) -> bool:
        """Whether `_findable` need not look at every skill."""
        with self._lock:
            return self._served is not None and self._served[0] is snapshot and id(policy) in self._served[1]

    def _not_found(self, name: str, snapshot: Snapshot) -> SkillNotFound:
        policy = self._access.now()
        return not_found(name, [s.name for s in snapshot.skills if _findable(s, policy)], search_tool="search_skills")


def _tell(search: SearchEvent, answer: SearchAnswer) -> None:
    search.searched, search.candidates = answer.searched, answer.considered
    search.hits, search.confident = len(answer.hits), answer.confident


def _named_like(text: str, snapshot: Snapshot) -> list[str]:
    """Return the skill whose name or safe alias is `text`, as it is or with its words joined."""
    found = snapshot.named(text) or snapshot.named(safe_alias(text))
    return [] if found is None else [found.directory]


def _findable(skill: Skill, policy: Policy) -> bool:
    return policy.offers(skill) and not skill.disable_model_invocation
