"""Which skills fit a query? The steps of one search, from the text to ranked hits."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from skillhub_mcp.errors import EmbeddingError, RerankingError
from skillhub_mcp.events import NULL_OBSERVER, Observer, SearchStepEvent, observe
from skillhub_mcp.index.candidate import Candidate
from skillhub_mcp.index.features import similar_pairs
from skillhub_mcp.index.lance import NO_FILTER, Filter
from skillhub_mcp.search.query import ALL_ORIGINS, Query, TermOrigin, parse_query
from skillhub_mcp.search.ranking import Hit, rank
from skillhub_mcp.search.rerankers.base import Contenders, Reranker
from skillhub_mcp.search.rerankers.fixed import WITH_A_PROVIDER, WITH_WORD_VECTORS, FixedWeights
from skillhub_mcp.search.scoring import (
    ALL_FIELDS,
    Contribution,
    Scores,
    contributions,
    score,
)

if TYPE_CHECKING:
    from skillhub_mcp.embedders.base import Embedder, Vector
    from skillhub_mcp.index.lance import LanceIndex

log = logging.getLogger(__name__)

# Ranking needs more to choose from than S2's four for each hit that is wanted: measured, 80 lose nothing.
_CANDIDATES = 80
_REST_AFTER_FAILURE_SECONDS = 30.0
_REMEMBERED_QUERIES = 256
# Two skills say nearly the same when they share nine of ten terms, in the short fields and in all of them.
_THE_SAME = 0.9
_NEARLY = 0.95
_COMPARED = 20
_SHOWN_TO_A_MODEL = 20
# The cosine of word vectors between a question and a skill that just fits it.
_USUAL_NEARNESS = 0.27
_SOME_FIELDS = 4


class SearchMode(str, Enum):
    """What finds candidates: words, vectors, both, or both where that measures best."""

    AUTO = "auto"
    FTS = "fts"
    VECTOR = "vector"
    HYBRID = "hybrid"


DescribeRow = Callable[[str], tuple[str, str]]
RetrievalMode = Literal["fts", "vector", "hybrid"]


def no_description(_: str) -> tuple[str, str]:
    """Say nothing of a row."""
    return "", ""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What one search came to: the hits best first, and all that they were chosen by.

    `mode` says what found candidates. `copies` are the hits that say nearly the same as a better one, by that one's
    directory. Where not `lasting`, a provider failed, and the same question may soon be answered otherwise.
    """

    hits: Sequence[Hit]
    question: Query
    candidates: Mapping[str, Candidate]
    scores: Scores
    copies: Mapping[str, Sequence[str]]
    mode: RetrievalMode
    lasting: bool = True

    def matched(self, directories: Sequence[str]) -> list[list[str]]:
        """Return for each of those hits what was asked for that it has, what counts most first."""
        numbers = {directory: number for number, directory in enumerate(self.candidates)}
        return [self.scores.matched(self.question, numbers[directory]) for directory in directories]


def without_copies(found: SearchResult) -> list[Hit]:
    """Return the hits without those that say nearly the same as a better one."""
    copies = {copy for group in found.copies.values() for copy in group}
    return [hit for hit in found.hits if hit.directory not in copies]


class Searcher:
    """Asks an index. Safe to use from several threads; remembers the vectors of the last queries."""

    def __init__(
        self,
        *,
        mode: SearchMode = SearchMode.AUTO,
        fields: frozenset[str] = ALL_FIELDS,
        embedder: Embedder | None = None,
        weights: FixedWeights | None = None,
        model: Reranker | None = None,
        origins: frozenset[TermOrigin] = ALL_ORIGINS,
        clock: Callable[[], float] = time.monotonic,
        observer: Observer = NULL_OBSERVER,
    ) -> None:
        self._mode = mode
        self._fields = fields
        self._embedder = None if mode is SearchMode.FTS else embedder
        self._is_local = embedder is None or embedder.is_local
        self._weights = weights or (WITH_WORD_VECTORS if self._is_local else WITH_A_PROVIDER)
        self._model = model
        self._origins = origins
        self._clock = clock
        self._observer = observer
        self._rests_until = float("-inf")
        self._model_rests_until = float("-inf")
        remembering = lru_cache(maxsize=_REMEMBERED_QUERIES)
        self._embed = None if self._embedder is None else remembering(self._embedder.embed_query)

    def asks_nobody(self, index: LanceIndex) -> bool:
        """Whether words that are asked of `index` are looked for in memory alone, and no provider or disk is asked."""
        return index.is_held and index.dimension is None and self._model is None

    def search(
        self,
        index: LanceIndex,
        query: str,
        *,
        limit: int,
        among: frozenset[str],
        narrowing: Filter = NO_FILTER,
        describe: DescribeRow = no_description,
        named: Collection[str] = (),
    ) -> SearchResult:
        """Return the rows of `among` that fit `query`, best first; `limit` is how many candidates S2 wants at least.

        Rows that are `named` like the query come first, whatever they score. `describe` says name and description of a
        row, for a model that is asked about them. Raises IndexDamaged. A provider that fails is no error: search goes
        on without it (seed 002 §3.2).
        """
        question = parse_query(query, index.statistics, index.speller, origins=self._origins)
        vector = None if index.dimension is None else self._query_vector(query)
        if vector is not None and len(vector) != index.dimension:
            vector = None
        meaning_alone = vector is not None and self._mode is SearchMode.VECTOR
        asked_by_name = [directory for directory in named if directory in among]
        with observe(self._observer, SearchStepEvent(name="candidates")):
            found = {} if meaning_alone else self._worded(index, question, vector, limit, among, narrowing)
            if vector is not None and (self._asks_vectors or len(found) < limit):
                near = index.nearest(vector, limit=max(limit, _CANDIDATES), among=among, narrowing=narrowing)
                found = {one.directory: one for one in near} | found
            if asked_by_name:
                found |= {one.directory: one for one in index.rows_at(set(asked_by_name) - found.keys(), vector)}
        candidates = [found[directory] for directory in sorted(found)]
        with observe(self._observer, SearchStepEvent(name="score")):
            nearness = () if vector is None else [one.nearness for one in candidates]
            terms = index.terms_of(candidates)
            scores = score(question, terms, index.statistics, nearness=nearness, fields=self._fields)
            totals = self._totals(query, candidates, scores, describe)
            hits = rank(
                candidates,
                scores,
                totals,
                skills=index.statistics.skills,
                meaning_alone=meaning_alone,
                named=frozenset(asked_by_name),
                usual_nearness=_USUAL_NEARNESS if vector is not None and self._is_local else None,
            )
            by_directory = {one.directory: one for one in candidates}
            copies = _copies(hits, by_directory)
        mode: RetrievalMode = "fts" if vector is None else "vector" if meaning_alone else "hybrid"
        vector_failed = vector is None and self._embed is not None and index.dimension is not None
        model_failed = self._model is not None and self._clock() < self._model_rests_until
        return SearchResult(
            hits, question, by_directory, scores, copies, mode, lasting=not (vector_failed or model_failed)
        )

    def explain(self, index: LanceIndex, found: SearchResult, directories: Sequence[str]) -> list[list[Contribution]]:
        """Return what brought those hits their words' score, clause by clause."""
        terms = index.terms_of([found.candidates[directory] for directory in directories])
        return contributions(found.question, terms, index.statistics, fields=self._fields)

    @property
    def _asks_vectors(self) -> bool:
        """Whether vectors find candidates too, and not only tell those apart that words find."""
        if self._mode is not SearchMode.AUTO:
            return True
        return not self._is_local

    def _worded(
        self,
        index: LanceIndex,
        question: Query,
        vector: Vector | None,
        limit: int,
        among: frozenset[str],
        narrowing: Filter,
    ) -> dict[str, Candidate]:
        if not question.terms:
            return {}
        wanted = max(limit, _CANDIDATES)
        # Words are found in every field: where only some count, more of what is found will not.
        many = wanted if self._fields == ALL_FIELDS else wanted * _SOME_FIELDS
        worded = index.with_words(question.terms, limit=many, among=among, vector=vector, narrowing=narrowing)
        return {one.directory: one for one in worded}

    def _totals(
        self, query: str, candidates: Sequence[Candidate], scores: Scores, describe: DescribeRow
    ) -> list[float]:
        totals = self._weights.rerank(query, Contenders(scores.shares, scores.meaning, scores.phrase))
        if self._model is None or not candidates or self._clock() < self._model_rests_until:
            return totals
        best = sorted(range(len(totals)), key=lambda number: -totals[number])[:_SHOWN_TO_A_MODEL]
        names, descriptions = zip(*(describe(candidates[number].directory) for number in best), strict=True)
        shown = Contenders(scores.shares[best], scores.meaning[best], scores.phrase[best], names, descriptions)
        try:
            chosen = self._model.rerank(query, shown)
        except RerankingError as error:
            self._model_rests_until = self._clock() + _REST_AFTER_FAILURE_SECONDS
            log.warning("Hits stand in the order of fixed weights for a while: %s", error.message)
            return totals
        # Whatever the model was not shown comes after what it was.
        behind = 1.0 / (1.0 + max(totals))
        totals = [total * behind for total in totals]
        for number, total in zip(best, chosen, strict=True):
            totals[number] = 1.0 + total
        return totals

    def _query_vector(self, text: str) -> Vector | None:
        if self._embed is None or self._clock() < self._rests_until:
            return None
        try:
            with observe(self._observer, SearchStepEvent(name="embed")):
                return self._embed(text)
        except EmbeddingError as error:
            # Else every search of an outage would wait for the same failure.
            self._rests_until = self._clock() + _REST_AFTER_FAILURE_SECONDS
            log.warning("Searches are answered from text for a while: %s", error.message)
            return None


def _copies(hits: Sequence[Hit], candidates: Mapping[str, Candidate]) -> dict[str, list[str]]:
    """Return the hits that say nearly the same as a better one. They score nearly the same: only such are compared."""
    compared = hits[:_COMPARED]
    if not any(after.score >= before.score * _NEARLY for before, after in pairwise(compared)):
        return {}
    same = similar_pairs([candidates[hit.directory].features for hit in compared], least=_THE_SAME)
    copies: dict[str, list[str]] = {}
    taken: set[str] = set()
    for number, other in zip(*(axis.tolist() for axis in same.nonzero()), strict=True):
        hit, copy = compared[number], compared[other]
        if number < other and copy.score >= hit.score * _NEARLY and not {hit.directory, copy.directory} & taken:
            copies.setdefault(hit.directory, []).append(copy.directory)
            taken.add(copy.directory)
    return copies
