"""The search engine: what a query returns to one caller, from the hub's live index.

A search takes the caller's policy and the current view once, asks the `Searcher` for what fits among the skills that
the caller may find, has `hits` drop the weak ones at the end, and turns rows into skills. Answers are cached while
view and policy stay the same.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from skillhub_mcp.analysis.analyzer import normalise_query, tokens
from skillhub_mcp.errors import IndexUnavailable, InvalidArgument
from skillhub_mcp.events import NULL_OBSERVER, Observer, SearchEvent, observe
from skillhub_mcp.index.filter import NO_FILTER, Filter
from skillhub_mcp.index.lance import IndexDamaged
from skillhub_mcp.index.provider import ViewProvider
from skillhub_mcp.index.skill_index import SkillIndex
from skillhub_mcp.policy.access import Access, Policy
from skillhub_mcp.search.answer_cache import AnswerCache
from skillhub_mcp.search.contributions import Contribution
from skillhub_mcp.search.facets import Facets, facets_of
from skillhub_mcp.search.hits import DEFAULT_CONFIDENCE, NEAR_MISSES, Hit, Reason, confident, cut_tail, near_misses
from skillhub_mcp.search.near_copies import Told, near_copies
from skillhub_mcp.search.searcher import RetrievalMode, Searcher, SearchRequest, SearchResult
from skillhub_mcp.search.standing import LeftOut, Standing, differences
from skillhub_mcp.search.visible_skills import VisibleSkills
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.names import safe_alias
from skillhub_mcp.skills.namesakes import Names
from skillhub_mcp.skills.roots import Source
from skillhub_mcp.skills.snapshot import Snapshot, UnavailableRoot
from skillhub_mcp.usage import UsageLog

log = logging.getLogger(__name__)

MAX_LIMIT = 100
_CANDIDATES_PER_HIT = 4
_WORDS_IN_A_REASON = 3
_CACHED_ANSWERS = 512
# A longer text is pasted, and hardly asked for again.
_MOST_CACHED = 2_000


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The default `limit`, the share of the best score that the other hits need, and the score from which one fits."""

    limit: int
    threshold: float
    confidence: float = DEFAULT_CONFIDENCE


@dataclass(frozen=True, slots=True)
class FoundSkill:
    """One hit: the skill, the handle to load it by, its score in 0..1, and whether text or vectors found it.

    `matched` are the words of the query that it has, the weightiest first; `copies` are the handles of skills that say
    nearly the same; `contributions` are there when an explanation was asked for.
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
        """The first words that matched, or `meaning` where vectors alone found it."""
        return ", ".join(self.matched[:_WORDS_IN_A_REASON]) or ("" if self.reason is None else "meaning")


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The hits, best first, and how many skills were `searched` of those that are `served`.

    `considered` counts the candidates. Where not `confident`, nothing fits well and the hits are near misses. Of a long
    text `left_out` common words were not asked for. `facets` are there when the query was empty: then the hits are a
    list by name, out of `searched`. `away` are the roots of hits that are missing now: their skills can be found and
    not loaded.
    """

    hits: tuple[FoundSkill, ...]
    searched: int
    served: int
    considered: int = 0
    confident: bool = True
    left_out: int = 0
    facets: Facets | None = None
    away: tuple[UnavailableRoot, ...] = ()


@dataclass(frozen=True, slots=True)
class _Parameters:
    """What a caller asked for; the key of a cached answer."""

    text: str
    limit: int
    where: Filter = NO_FILTER
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class _Scope:
    """What one search works on: a snapshot, the names that its caller knows, its index, and the directories that it
    may return, out of `served`.
    """

    snapshot: Snapshot
    names: Names
    index: SkillIndex
    among: frozenset[str]
    served: int


@dataclass(frozen=True, slots=True)
class _Distinct:
    """Hits without near copies, best first, and the directories of these by that of the hit that is shown for them."""

    hits: Sequence[Hit]
    copies: Mapping[str, Sequence[str]]


class SearchEngine:
    """Searches the skills of a live index. Safe to use from several threads."""

    def __init__(
        self,
        live: ViewProvider,
        access: Access,
        searcher: Searcher,
        options: SearchOptions,
        *,
        usage: UsageLog | None = None,
        observer: Observer = NULL_OBSERVER,
    ) -> None:
        self._live = live
        self._access = access
        self._searcher = searcher
        self._options = options
        self._usage = usage
        self._observer = observer
        self._visible = VisibleSkills()
        self._answers = AnswerCache[tuple[SearchAnswer, RetrievalMode]](_CACHED_ANSWERS)

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
        """Return the skills that fit `query`, best first. See `SkillHub.search`."""
        parameters = _Parameters(
            normalise_query(query),
            self._options.limit if limit is None else limit,
            Filter.create(category, tags),
            source,
        )
        with observe(self._observer, SearchEvent()) as event:
            if not 1 <= parameters.limit <= MAX_LIMIT:
                raise InvalidArgument("limit", f"must be from 1 to {MAX_LIMIT}")
            policy = self._access.now()
            if not tokens(parameters.text):
                answer = self._list_by_name(parameters, policy)
            else:
                answer, event.mode = self._search(parameters, policy, explain=explain)
                if self._usage is not None:
                    handles = [hit.handle for hit in answer.hits]
                    self._usage.record_search(parameters.text, handles, confident=answer.confident)
            event.searched, event.candidates = answer.searched, answer.considered
            event.hits, event.confident = len(answer.hits), answer.confident
        return answer

    def standing(self, task: str, directory: str) -> Standing:
        """Return where the skill in that directory stands in a search for `task`, and why it is not first.

        Raises InvalidArgument for a task without a letter or digit, and IndexUnavailable.
        """
        parameters = _Parameters(normalise_query(task), self._options.limit)
        if not tokens(parameters.text):
            raise InvalidArgument("the task", "has no letter and no digit")
        view, index = self._live.view_and_index()
        scope = self._scope(view.snapshot, index, self._access.now(), parameters)
        request = _request(parameters, scope)
        try:
            result = self._searcher.search(index, request)
            distinct = _distinct(result.hits, request.named, scope.snapshot)
            compared = [directory, *(hit.directory for hit in distinct.hits[:1])]
            own, *first = self._searcher.explain(index, result.query, compared)
        except IndexDamaged as error:
            raise IndexUnavailable(
                f"The index cannot be read: {error}", hint="skillhub doctor says what is damaged"
            ) from error
        answer = self._answer(parameters, scope, result, distinct)
        return _standing(directory, answer, request, result, distinct, own, first[0] if first else (), scope)

    def has_terms(self, query: str) -> bool:
        """Whether `query` asks the index at all: without a letter or digit it lists the skills by name."""
        return bool(tokens(normalise_query(query)))

    def _search(self, parameters: _Parameters, policy: Policy, *, explain: bool) -> tuple[SearchAnswer, RetrievalMode]:
        """Answer from the present view; where its index fails, once more from another one."""
        try:
            return self._search_once(parameters, policy, explain=explain)
        except IndexDamaged:
            log.info("The index cannot be read and is opened again")
        try:
            return self._search_once(parameters, policy, explain=explain)
        except IndexDamaged as error:
            raise IndexUnavailable(
                f"The index cannot be read: {error}", hint="call again; if it fails again, run skillhub --reindex"
            ) from error

    def _search_once(
        self, parameters: _Parameters, policy: Policy, *, explain: bool
    ) -> tuple[SearchAnswer, RetrievalMode]:
        view, index = self._live.view_and_index()
        sources = (view.snapshot, index)
        if not explain:
            cached = self._answers.get(sources, policy, parameters)
            if cached is not None:
                return cached
        scope = self._scope(view.snapshot, index, policy, parameters)
        try:
            request = _request(parameters, scope)
            result = self._searcher.search(index, request)
            distinct = _distinct(result.hits, request.named, scope.snapshot)
            answer = self._answer(parameters, scope, result, distinct, explain=explain)
        except IndexDamaged:
            # Another process may have cleaned this version away: what it published since can answer.
            self._live.discard_index(index)
            raise
        if result.cacheable and not explain and len(parameters.text) <= _MOST_CACHED:
            self._answers.put(sources, policy, parameters, (answer, result.mode))
        return answer, result.mode

    def _answer(
        self,
        parameters: _Parameters,
        scope: _Scope,
        result: SearchResult,
        distinct: _Distinct,
        *,
        explain: bool = False,
    ) -> SearchAnswer:
        hits = cut_tail(distinct.hits, threshold=self._options.threshold, limit=parameters.limit)
        is_confident = confident(hits, threshold=self._options.confidence, covered=result.covered)
        shown = hits if is_confident else near_misses(hits, threshold=self._options.confidence)
        snapshot, names = scope.snapshot, scope.names
        found = []
        explained = self._searcher.explain(scope.index, result.query, [hit.directory for hit in shown])
        for hit, own in zip(shown, explained, strict=True):
            skill = snapshot.by_directory(hit.directory)
            if skill is None:
                continue
            copies = (snapshot.by_directory(directory) for directory in distinct.copies.get(hit.directory, ()))
            found.append(
                FoundSkill(
                    skill,
                    names.handle(skill),
                    hit.score,
                    hit.reason,
                    matched=tuple(dict.fromkeys(one.asked for one in own)),
                    copies=tuple(names.handle(copy) for copy in copies if copy is not None),
                    contributions=tuple(own) if explain else (),
                )
            )
        return SearchAnswer(
            hits=tuple(found),
            searched=len(scope.among),
            served=scope.served,
            considered=len(result.hits),
            confident=is_confident,
            left_out=result.query.left_out,
            away=_away(snapshot, found),
        )

    def _list_by_name(self, parameters: _Parameters, policy: Policy) -> SearchAnswer:
        snapshot = self._live.snapshot()
        names = Names(snapshot, policy)
        among = self._among(snapshot, policy, parameters)
        skills = sorted(
            (skill for skill in map(snapshot.by_directory, among) if skill is not None),
            key=lambda skill: (skill.name, skill.directory),
        )
        hits = tuple(FoundSkill(skill, names.handle(skill), 0.0, None) for skill in skills[: parameters.limit])
        return SearchAnswer(
            hits=hits,
            searched=len(skills),
            served=len(self._visible.directories(snapshot, policy)),
            facets=facets_of(skills, [snapshot.source(skill).value for skill in skills]),
            away=_away(snapshot, hits),
        )

    def _scope(self, snapshot: Snapshot, index: SkillIndex, policy: Policy, parameters: _Parameters) -> _Scope:
        served = len(self._visible.directories(snapshot, policy))
        return _Scope(snapshot, Names(snapshot, policy), index, self._among(snapshot, policy, parameters), served)

    def _among(self, snapshot: Snapshot, policy: Policy, parameters: _Parameters) -> frozenset[str]:
        """Return the directories of what a search may return for its source and filter."""
        visible = self._visible.directories(snapshot, policy, parameters.source)
        if not parameters.where:
            return visible
        skills = (snapshot.by_directory(directory) for directory in visible)
        return frozenset(skill.directory for skill in skills if skill is not None and parameters.where.matches(skill))


def _away(snapshot: Snapshot, hits: Sequence[FoundSkill]) -> tuple[UnavailableRoot, ...]:
    roots = {hit.skill.root for hit in hits}
    return tuple(root for root in snapshot.report.unavailable if root.path in roots)


def _distinct(hits: Sequence[Hit], named: frozenset[str], snapshot: Snapshot) -> _Distinct:
    """Return the hits without those that say nearly the same as another.

    Of such the one of the stronger source stays, in the place and with the score of the best; what is `named` in the
    query is stronger than any.
    """
    ordered: list[Hit] = []
    for _, equal in groupby(hits, key=lambda hit: hit.score):
        tied = list(equal)
        # By where it comes from and what it is, and not by where it lies.
        ordered += sorted(tied, key=lambda hit: _precedence(hit, snapshot)) if len(tied) > 1 else tied
    told = [_told(hit, named, snapshot) for hit in ordered]
    shown, copies = [], {}
    for group in near_copies(told):
        first, *others = (ordered[number] for number in group)
        shown.append(first._replace(score=ordered[min(group)].score))
        if others:
            copies[first.directory] = [copy.directory for copy in others]
    return _Distinct(shown, copies)


def _told(hit: Hit, named: frozenset[str], snapshot: Snapshot) -> Told:
    skill = snapshot.by_directory(hit.directory)
    if skill is None:
        return Told("", "")
    return Told(skill.name, skill.description, -1 if hit.directory in named else snapshot.root_rank(skill))


def _precedence(hit: Hit, snapshot: Snapshot) -> tuple[int, str, str]:
    skill = snapshot.by_directory(hit.directory)
    return (0, "", "") if skill is None else (snapshot.root_rank(skill), skill.name, skill.stamp.content_hash)


def _standing(
    directory: str,
    answer: SearchAnswer,
    request: SearchRequest,
    result: SearchResult,
    distinct: _Distinct,
    own: Sequence[Contribution],
    first: Sequence[Contribution],
    scope: _Scope,
) -> Standing:
    hits = distinct.hits
    places = {hit.directory: number for number, hit in enumerate(hits)}
    place = places.get(directory)
    best = hits[0] if hits else None
    winner = None if best is None else scope.snapshot.by_directory(best.directory)
    left_out = None
    if all(hit.skill.directory != directory for hit in answer.hits):
        is_copy = any(directory in group for group in distinct.copies.values())
        left_out = _why_left_out(place, answer, is_copy=is_copy, has_words=bool(own), limit=request.limit)

    def nearness(of: str) -> float | None:
        return result.nearness.get(of)

    return Standing(
        task=request.text,
        rank=None if place is None else place + 1,
        hits=len(hits),
        score=0.0 if place is None else hits[place].score,
        confident=answer.confident,
        left_out=left_out,
        first="" if winner is None else scope.names.handle(winner),
        first_score=0.0 if best is None else best.score,
        named=best is not None and best.directory in request.named,
        differences=() if place == 0 else differences(own, first),
        matched=tuple(one.asked for one in own),
        nearness=nearness(directory),
        first_nearness=None if best is None else nearness(best.directory),
    )


def _why_left_out(place: int | None, answer: SearchAnswer, *, is_copy: bool, has_words: bool, limit: int) -> LeftOut:
    if is_copy:
        return LeftOut.COPY
    if place is None:
        return LeftOut.NOT_AMONG_BEST if has_words else LeftOut.NO_WORD
    if len(answer.hits) == limit // _CANDIDATES_PER_HIT:
        return LeftOut.LIMIT
    return LeftOut.TAIL if answer.confident or len(answer.hits) != NEAR_MISSES else LeftOut.NEAR_MISS


def _request(parameters: _Parameters, scope: _Scope) -> SearchRequest:
    def describe(directory: str) -> tuple[str, str]:
        skill = scope.snapshot.by_directory(directory)
        return ("", "") if skill is None else (skill.name, skill.description)

    # A skill whose name or safe alias is the query, as it is or with its words joined, comes first.
    named = scope.names.find(parameters.text) or scope.names.find(safe_alias(parameters.text))
    return SearchRequest(
        parameters.text,
        limit=parameters.limit * _CANDIDATES_PER_HIT,
        among=scope.among,
        named=frozenset() if named is None else frozenset({named.directory}),
        describe=describe,
    )
