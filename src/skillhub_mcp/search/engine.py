"""The search engine: what a query returns to one caller, from the hub's live index.

A search takes the caller's policy and the current view once, asks the `Searcher` for what fits among the skills that
the caller may find, has `near_copies` group what says the same and `hits` drop the weak ones at the end.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeVar

from skillhub_mcp._util.lru import LRUCache
from skillhub_mcp.analysis.analyzer import normalise_query, tokens
from skillhub_mcp.errors import IndexUnavailable, InvalidArgument
from skillhub_mcp.events import NULL_OBSERVER, Observer, SearchEvent, observe
from skillhub_mcp.index.filter import NO_FILTER, Filter
from skillhub_mcp.index.lance import IndexDamaged
from skillhub_mcp.index.search_index import SearchIndex
from skillhub_mcp.index.views import ViewSource
from skillhub_mcp.policy.access import Access, Policy
from skillhub_mcp.search.contributions import Contribution
from skillhub_mcp.search.facets import Facets, facets_of
from skillhub_mcp.search.hits import DEFAULT_CONFIDENCE, NEAR_MISSES, Hit, Reason, confident, cut_tail, near_misses
from skillhub_mcp.search.near_copies import COMPARED_HITS, Candidate, near_copies
from skillhub_mcp.search.rank_explanation import LeftOut, RankExplanation, Stand
from skillhub_mcp.search.searcher import RetrievalMode, Searcher, SearchRequest, SearchResult
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.names import safe_alias
from skillhub_mcp.skills.roots import Source
from skillhub_mcp.skills.snapshot import Snapshot, UnavailableRoot
from skillhub_mcp.usage import UsageLog

log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_LIMIT = 100
_CANDIDATES_PER_HIT = 4
_WORDS_IN_A_REASON = 3
_CACHED_SETS = 64


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The default `limit`, the share of the best score that the other hits need, and the score from which one fits."""

    limit: int
    threshold: float
    confidence: float = DEFAULT_CONFIDENCE


@dataclass(frozen=True, slots=True)
class FoundSkill:
    """One hit: the skill, the handle to load it by, its score in 0..1, and whether text or vectors found it.

    `copies` are the handles of skills that say nearly the same; `contributions` are there when an explanation was asked
    for.
    """

    skill: Skill
    handle: str
    score: float
    reason: Reason | None
    copies: tuple[str, ...] = ()
    contributions: tuple[Contribution, ...] = ()

    @property
    def matched(self) -> tuple[str, ...]:
        """The words of the query that it has, the weightiest first, when an explanation was asked for."""
        return tuple(dict.fromkeys(one.asked for one in self.contributions))

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
    not loaded. An answer is `complete` if the settings ask for every hit that limit and threshold allow.
    """

    hits: tuple[FoundSkill, ...]
    searched: int
    served: int
    considered: int = 0
    confident: bool = True
    left_out: int = 0
    facets: Facets | None = None
    away: tuple[UnavailableRoot, ...] = ()
    complete: bool = False


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a caller asked for."""

    text: str
    limit: int
    where: Filter = NO_FILTER
    source: Source | None = None
    explain: bool = False


class _Distinct(NamedTuple):
    """A hit, its skill, and those that say nearly the same."""

    hit: Hit
    skill: Skill
    copies: Sequence[Skill]


@dataclass(frozen=True, slots=True)
class _Found:
    """What one search found: the hits without near copies, of which so many are `shown`, and whether the first fits."""

    request: SearchRequest
    result: SearchResult
    distinct: Sequence[_Distinct]
    shown: int
    confident: bool


class SearchEngine:
    """Searches the skills of a live index. Safe to use from several threads."""

    def __init__(
        self,
        live: ViewSource,
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
        # Every skill is looked at for each set of what a search may return. They are those of one snapshot.
        self._findable = LRUCache[Hashable, tuple[Policy, frozenset[str]]](_CACHED_SETS)
        self._findable_of: Snapshot | None = None
        self._finding = threading.Lock()

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
        asked = _Asked(
            normalise_query(query),
            self._options.limit if limit is None else limit,
            Filter.create(category, tags),
            source,
            explain,
        )
        with observe(self._observer, SearchEvent()) as event:
            if not 1 <= asked.limit <= MAX_LIMIT:
                raise InvalidArgument("limit", f"must be from 1 to {MAX_LIMIT}")
            policy = self._access.now()
            if not tokens(asked.text):
                answer = _as_locked(self._list_by_name(asked, policy), policy)
            else:
                answer, event.mode = self._on_index(partial(self._search, asked, policy))
                answer = _as_locked(answer, policy)
                if self._usage is not None:
                    handles = [hit.handle for hit in answer.hits]
                    self._usage.record_search(asked.text, handles, confident=answer.confident)
            event.searched, event.candidates = answer.searched, answer.considered
            event.hits, event.confident = len(answer.hits), answer.confident
        return answer

    def standing(self, task: str, directory: str) -> RankExplanation:
        """Return where the skill in that directory stands in a search for `task`, and why it is not first.

        Raises InvalidArgument for a task without a letter or digit, and IndexUnavailable.
        """
        asked, policy = _Asked(normalise_query(task), self._options.limit), self._access.now()
        if not tokens(asked.text):
            raise InvalidArgument("the task", "has no letter and no digit")
        return self._on_index(lambda snapshot, index: self._stand(asked, policy, snapshot, index, directory))

    def _on_index(self, use: Callable[[Snapshot, SearchIndex], T]) -> T:
        """Return what `use` makes of the present view; if its index fails, once more of another one."""
        view, index = self._live.view()
        try:
            return use(view.snapshot, index)
        except IndexDamaged as error:
            # Another process may have removed this version: what it has committed since can answer.
            log.info("The index cannot be read and is opened again: %s", error)
        view, index = self._live.view(instead_of=index)
        try:
            return use(view.snapshot, index)
        except IndexDamaged as error:
            raise IndexUnavailable(
                f"The index cannot be read: {error}",
                hint="call again; if it fails again, run skillhub index --verify",
            ) from error

    def _search(
        self, asked: _Asked, policy: Policy, snapshot: Snapshot, index: SearchIndex
    ) -> tuple[SearchAnswer, RetrievalMode]:
        names = Names(snapshot, policy)
        found = self._find(asked, names, policy, index)
        query, hits = found.result.query, []
        for hit, skill, copies in found.distinct[: found.shown]:
            hits.append(
                FoundSkill(
                    skill,
                    names.handle(skill),
                    hit.score,
                    hit.reason,
                    copies=tuple(map(names.handle, copies)),
                    contributions=self._searcher.explain(index, found.result, hit.directory) if asked.explain else (),
                )
            )
        answer = SearchAnswer(
            hits=tuple(hits),
            searched=len(found.request.among),
            served=len(self._among(snapshot, policy)),
            considered=len(found.result.hits),
            confident=found.confident,
            left_out=query.left_out,
            away=_away(snapshot, hits),
            complete=self._options.confidence <= 0.0,
        )
        return answer, found.result.mode

    def _find(
        self, asked: _Asked, names: Names, policy: Policy, index: SearchIndex, *, beyond_shown: bool = False
    ) -> _Found:
        """Search; `distinct` has no hits that could not be shown, unless they are asked for."""
        snapshot = names.snapshot
        # A skill whose name or safe alias is the query, as it is or with its words joined, comes first.
        named = names.find(asked.text) or names.find(safe_alias(asked.text))
        request = SearchRequest(
            asked.text,
            limit=asked.limit * _CANDIDATES_PER_HIT,
            among=self._among(snapshot, policy, asked.source, asked.where),
            named="" if named is None else named.directory,
            describe=lambda directory: _described(snapshot, directory),
        )
        result = self._searcher.search(index, request)
        # Copies are among the first alone: whatever they are, so many leave enough to show.
        most = None if beyond_shown else COMPARED_HITS + asked.limit
        distinct = _distinct(result.hits, request.named, snapshot, most=most)
        hits = cut_tail([one.hit for one in distinct], threshold=self._options.threshold, limit=asked.limit)
        fits = confident(hits, threshold=self._options.confidence)
        shown = hits if fits else near_misses(hits, threshold=self._options.confidence)
        return _Found(request, result, distinct, len(shown), fits)

    def _stand(
        self, asked: _Asked, policy: Policy, snapshot: Snapshot, index: SearchIndex, directory: str
    ) -> RankExplanation:
        names = Names(snapshot, policy)
        found = self._find(asked, names, policy, index, beyond_shown=True)
        pairs = zip(found.result.hits, found.result.nearness, strict=True)
        near = {hit.directory: nearness for hit, nearness in pairs if not math.isnan(nearness)}
        scores = {one.hit.directory: one.hit.score for one in found.distinct}

        def stand(skill: Skill) -> Stand:
            own = skill.directory
            parts = self._searcher.explain(index, found.result, own)
            return Stand(names.handle(skill), scores.get(own, 0.0), parts, near.get(own))

        skill = snapshot.by_directory(directory)
        first = found.distinct[0].skill if found.distinct else None
        place = list(scores).index(directory) if directory in scores else None
        own = Stand("", 0.0, (), None) if skill is None else stand(skill)
        return RankExplanation(
            task=asked.text,
            rank=None if place is None else place + 1,
            hits=len(scores),
            confident=found.confident,
            left_out=_left_out(found, directory, place, asked.limit, has_words=bool(own.parts)),
            named=first is not None and first.directory == found.request.named,
            own=own,
            first=None if first is None else stand(first),
        )

    def _list_by_name(self, asked: _Asked, policy: Policy) -> SearchAnswer:
        snapshot = self._live.snapshot()
        names = Names(snapshot, policy)
        among = map(snapshot.by_directory, self._among(snapshot, policy, asked.source, asked.where))
        skills = sorted((one for one in among if one is not None), key=lambda one: (one.name, one.directory))
        hits = tuple(FoundSkill(skill, names.handle(skill), 0.0, None) for skill in skills[: asked.limit])
        return SearchAnswer(
            hits=hits,
            searched=len(skills),
            served=len(self._among(snapshot, policy)),
            facets=facets_of(skills, [snapshot.source(skill).value for skill in skills]),
            away=_away(snapshot, hits),
        )

    def _among(
        self, snapshot: Snapshot, policy: Policy, source: Source | None = None, where: Filter = NO_FILTER
    ) -> frozenset[str]:
        """Return the directories of what a search may return.

        With a source, of that source's skills, also where another source's skill answers to their name.
        """
        with self._finding:
            if self._findable_of is not snapshot:
                self._findable_of = snapshot
                self._findable.clear()
            key = id(policy), source, where
            known = self._findable.get(key)
            if known is None:
                names = Names(snapshot, policy)
                skills = names.findable() if source is None else names.of_source(source)
                # A skill that models may not choose can still be loaded by name.
                found = frozenset(
                    one.directory for one in skills if not one.disable_model_invocation and where.matches(one)
                )
                # The policy is kept with its set, so that no other one can take its identity.
                known = policy, found
                self._findable.put(key, known)
        return known[1]


def _as_locked(answer: SearchAnswer, policy: Policy) -> SearchAnswer:
    """Return the answer without the hits whose files, of whatever kind, are not as they were locked by now."""
    if policy.locks is None:
        return answer
    hits = tuple(hit for hit in answer.hits if policy.is_as_locked(hit.skill))
    return answer if len(hits) == len(answer.hits) else replace(answer, hits=hits)


def _away(snapshot: Snapshot, hits: Sequence[FoundSkill]) -> tuple[UnavailableRoot, ...]:
    roots = {hit.skill.root for hit in hits}
    return tuple(root for root in snapshot.report.unavailable if root.path in roots)


def _described(snapshot: Snapshot, directory: str) -> tuple[str, str]:
    skill = snapshot.by_directory(directory)
    return ("", "") if skill is None else (skill.name, skill.description)


def _distinct(hits: Sequence[Hit], named: str, snapshot: Snapshot, *, most: int | None) -> list[_Distinct]:
    """Return the hits, best first, without those that say nearly the same as another: of the first `most`, or of all.

    Of such the one of the stronger source stays, in the place and with the score of the best; what is `named` in the
    query is stronger than any. Of equal scores where a skill comes from and what it is decide, not where it lies.
    """
    found: list[tuple[Hit, Skill]] = []
    for hit in hits:
        # What ties with the last may come before it.
        if most is not None and len(found) >= most and hit.score < found[-1][0].score:
            break
        skill = snapshot.by_directory(hit.directory)
        if skill is not None:
            found.append((hit, skill))
    roots = {skill.root: skill for _, skill in found}
    ranks = {root: snapshot.root_rank(skill) for root, skill in roots.items()}
    found.sort(key=lambda one: (-one[0].score, ranks[one[1].root], one[1].name, one[1].stamp.content_hash))
    compared = [
        Candidate(skill.name, skill.description, -1 if skill.directory == named else ranks[skill.root])
        for _, skill in found[:COMPARED_HITS]
    ]
    distinct = []
    for group in near_copies(compared):
        (hit, skill), best = found[group[0]], found[min(group)][0]
        shown = hit if hit is best else hit._replace(score=best.score)
        distinct.append(_Distinct(shown, skill, [found[copy][1] for copy in group[1:]]))
    return [*distinct, *(_Distinct(hit, skill, []) for hit, skill in found[len(compared) :])]


def _left_out(found: _Found, directory: str, place: int | None, limit: int, *, has_words: bool) -> LeftOut | None:
    if place is None:
        if any(copy.directory == directory for one in found.distinct for copy in one.copies):
            return LeftOut.COPY
        return LeftOut.NOT_AMONG_BEST if has_words else LeftOut.NO_WORD
    if place < found.shown:
        return None
    if found.shown == limit:
        return LeftOut.LIMIT
    return LeftOut.TAIL if found.confident or found.shown != NEAR_MISSES else LeftOut.NEAR_MISS
