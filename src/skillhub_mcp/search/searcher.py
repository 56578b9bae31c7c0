"""One search of one index version, in stages: parse the query, collect candidates, score, rerank, rank.

Providers are optional in every stage: where an embedding or reranking provider fails, the search continues without it,
and the provider is not called again for a while.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from skillhub_mcp.circuit_breaker import CircuitBreaker
from skillhub_mcp.errors import EmbeddingError, RerankingError
from skillhub_mcp.events import NULL_OBSERVER, Observer, SearchStepEvent, observe
from skillhub_mcp.index.filter import NO_FILTER, Filter
from skillhub_mcp.search.query import ALL_ORIGINS, Query, TermOrigin, parse_query
from skillhub_mcp.search.ranking import Hit, rank
from skillhub_mcp.search.rerankers.base import Contenders, Reranker
from skillhub_mcp.search.rerankers.fixed import WITH_A_PROVIDER, WITH_WORD_VECTORS, FixedWeights
from skillhub_mcp.search.scoring import ALL_FIELDS, Contribution, Scores, contributions, score

if TYPE_CHECKING:
    from skillhub_mcp.embedders.base import Embedder, Vector
    from skillhub_mcp.index.candidate import Candidate
    from skillhub_mcp.index.skill_index import SkillIndex

log = logging.getLogger(__name__)

# Ranking needs more to choose from than four candidates for each hit: measured, 80 lose nothing.
_CANDIDATES = 80
# Text matches in every field; where only some fields count, this many times more candidates are needed.
_SOME_FIELDS_FACTOR = 4
PROVIDER_REST_SECONDS = 30.0
_CACHED_QUERY_VECTORS = 256
_RERANKED_BY_MODEL = 20
# The cosine of word vectors between a query and a skill that just fits it.
_USUAL_NEARNESS = 0.27


class SearchMode(str, Enum):
    """What finds candidates: text, vectors, both, or (`auto`) both where that measures best."""

    AUTO = "auto"
    FTS = "fts"
    VECTOR = "vector"
    HYBRID = "hybrid"


RetrievalMode = Literal["fts", "vector", "hybrid"]
DescribeRow = Callable[[str], tuple[str, str]]


def no_description(_: str) -> tuple[str, str]:
    """Return an empty name and description."""
    return "", ""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What to search for: a normalised text, among which directories, and at least how many candidates.

    Rows `named` like the text come first, whatever they score. `describe` returns the name and description of a row,
    for a reranker that reads them.
    """

    text: str
    limit: int
    among: frozenset[str]
    where: Filter = NO_FILTER
    named: frozenset[str] = frozenset()
    describe: DescribeRow = no_description


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of one search, best first, and what they were chosen by.

    `candidates` are in the order of `scores`. A result is not `cacheable` where a provider failed: the next search may
    do better.
    """

    hits: Sequence[Hit]
    query: Query
    candidates: Mapping[str, Candidate]
    scores: Scores
    mode: RetrievalMode
    cacheable: bool = True

    def matched(self, directories: Sequence[str]) -> list[list[str]]:
        """Return for each of those hits the words of the query that it has, the weightiest first."""
        columns = {directory: column for column, directory in enumerate(self.candidates)}
        return [self.scores.matched(self.query, columns[directory]) for directory in directories]


class Searcher:
    """Searches an index. Safe to use from several threads; caches the vectors of the last queries.

    While the `embedder_breaker` is open, the embedder is not asked; whoever else finds that it fails may open it.
    """

    def __init__(
        self,
        *,
        mode: SearchMode = SearchMode.AUTO,
        fields: frozenset[str] = ALL_FIELDS,
        embedder: Embedder | None = None,
        weights: FixedWeights | None = None,
        model: Reranker | None = None,
        origins: frozenset[TermOrigin] = ALL_ORIGINS,
        embedder_breaker: CircuitBreaker | None = None,
        clock: Callable[[], float] = time.monotonic,
        observer: Observer = NULL_OBSERVER,
    ) -> None:
        self._mode = mode
        self._fields = fields
        self._is_local = embedder is None or embedder.is_local
        self._weights = weights or (WITH_WORD_VECTORS if self._is_local else WITH_A_PROVIDER)
        self._model = model
        self._origins = origins
        self._observer = observer
        self._embedder_breaker = embedder_breaker or CircuitBreaker(PROVIDER_REST_SECONDS, clock=clock)
        self._model_breaker = CircuitBreaker(PROVIDER_REST_SECONDS, clock=clock)
        self._embed = None
        if embedder is not None and mode is not SearchMode.FTS:
            self._embed = lru_cache(maxsize=_CACHED_QUERY_VECTORS)(embedder.embed_query)

    def search(self, index: SkillIndex, request: SearchRequest) -> SearchResult:
        """Return the rows that fit, best first. Raises IndexDamaged.

        A provider that fails is no error: the search goes on without it.
        """
        query = parse_query(request.text, index.statistics, index.speller, origins=self._origins)
        vector = self._query_vector(index, request.text)
        mode = self._retrieval_mode(index, vector)
        with observe(self._observer, SearchStepEvent(name="candidates")):
            candidates = self._candidates(index, request, query, vector, mode)
        with observe(self._observer, SearchStepEvent(name="score")):
            rows = tuple(candidates.values())
            nearness = () if vector is None else [row.nearness for row in rows]
            terms = index.terms_of(rows)
            scores = score(query, terms, index.statistics, nearness=nearness, fields=self._fields)
            hits = rank(
                rows,
                scores,
                self._rerank(request, rows, scores),
                skills=index.statistics.skills,
                meaning_alone=mode == "vector",
                named=request.named & request.among,
                usual_nearness=_USUAL_NEARNESS if vector is not None and self._is_local else None,
            )
        lacks_vector = vector is None and self._embed is not None and index.dimension is not None
        lacks_model = self._model is not None and self._model_breaker.is_open
        return SearchResult(hits, query, candidates, scores, mode, cacheable=not (lacks_vector or lacks_model))

    def explain(self, index: SkillIndex, result: SearchResult, directories: Sequence[str]) -> list[list[Contribution]]:
        """Return what each clause of the query contributes to the text score of those rows, candidates or not.

        Nothing for a row that the index has not. Raises IndexDamaged.
        """
        others = index.get_rows([one for one in directories if one not in result.candidates])
        rows = {**result.candidates, **{row.directory: row for row in others}}
        present = [directory for directory in directories if directory in rows]
        terms = index.terms_of([rows[directory] for directory in present])
        found = contributions(result.query, terms, index.statistics, fields=self._fields)
        by_directory = dict(zip(present, found, strict=True))
        return [by_directory.get(directory, []) for directory in directories]

    def _query_vector(self, index: SkillIndex, text: str) -> Vector | None:
        """Return the vector of the query, or None where the index has none like it or the provider fails."""
        if index.dimension is None or self._embed is None or self._embedder_breaker.is_open:
            return None
        try:
            with observe(self._observer, SearchStepEvent(name="embed")):
                vector = self._embed(text)
        except EmbeddingError as error:
            self._rest_embedder(error.message)
            return None
        if len(vector) != index.dimension:
            self._rest_embedder(f"the query's vector has {len(vector)} numbers, those of the index {index.dimension}")
            return None
        return vector

    def _rest_embedder(self, reason: str) -> None:
        self._embedder_breaker.record_failure()
        log.warning("Searching by text alone for a while: %s", reason)

    def _retrieval_mode(self, index: SkillIndex, vector: Vector | None) -> RetrievalMode:
        if vector is None:
            return "fts"
        # By vectors alone, a skill that has none yet could not be found at all.
        return "vector" if self._mode is SearchMode.VECTOR and not index.lacks_vectors else "hybrid"

    @property
    def _vectors_find_candidates(self) -> bool:
        """Whether vectors add candidates of their own; word vectors only rank those that text finds."""
        return self._mode is not SearchMode.AUTO or not self._is_local

    def _candidates(
        self, index: SkillIndex, request: SearchRequest, query: Query, vector: Vector | None, mode: RetrievalMode
    ) -> dict[str, Candidate]:
        """Return the candidates by directory, in the order of their directories."""
        wanted = max(request.limit, _CANDIDATES)
        found: dict[str, Candidate] = {}
        if mode != "vector" and query.terms:
            many = wanted if self._fields == ALL_FIELDS else wanted * _SOME_FIELDS_FACTOR
            by_text = index.match_terms(
                query.terms, limit=many, among=request.among, vector=vector, where=request.where
            )
            found = {row.directory: row for row in by_text}
        if vector is not None and (self._vectors_find_candidates or len(found) < request.limit):
            nearest = index.nearest_rows(vector, limit=wanted, among=request.among, where=request.where)
            found = {row.directory: row for row in nearest} | found
        named = request.named & request.among
        if named:
            found |= {row.directory: row for row in index.get_rows(named - found.keys(), vector)}
        return {directory: found[directory] for directory in sorted(found)}

    def _rerank(self, request: SearchRequest, rows: Sequence[Candidate], scores: Scores) -> list[float]:
        """Return what each candidate counts: by fixed weights, and the best of them by the model where there is one."""
        totals = self._weights.rerank(request.text, Contenders(scores.shares, scores.meaning, scores.phrase))
        if self._model is None or not rows or self._model_breaker.is_open:
            return totals
        best = sorted(range(len(totals)), key=lambda number: -totals[number])[:_RERANKED_BY_MODEL]
        names, descriptions = zip(*(request.describe(rows[number].directory) for number in best), strict=True)
        shown = Contenders(scores.shares[best], scores.meaning[best], scores.phrase[best], names, descriptions)
        try:
            chosen = self._model.rerank(request.text, shown)
        except RerankingError as error:
            self._model_breaker.record_failure()
            log.warning("Ranking by fixed weights for a while: %s", error.message)
            return totals
        # Whatever the model was not shown comes after what it was.
        scale = 1.0 / (1.0 + max(totals))
        totals = [total * scale for total in totals]
        for number, total in zip(best, chosen, strict=True):
            totals[number] = 1.0 + total
        return totals
