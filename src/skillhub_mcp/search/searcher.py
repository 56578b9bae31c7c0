"""One search of one index version: parse the query, score the candidates, rank the best, say how likely the first fits.

Providers are optional in every stage: where an embedding or reranking provider fails, the search continues without it,
and the provider is not called again for a while.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from skillhub_mcp.embedders.circuit_breaker import CircuitBreaker
from skillhub_mcp.errors import EmbeddingError, RerankingError
from skillhub_mcp.events import NULL_OBSERVER, Observer, SearchStepEvent, observe
from skillhub_mcp.index.search_index import NearnessScale, SearchIndex
from skillhub_mcp.search.candidates import NEAREST, Candidates, find_candidates
from skillhub_mcp.search.contributions import Contribution, contributions
from skillhub_mcp.search.hits import Hit, Reason
from skillhub_mcp.search.impacts import ALL_FIELDS
from skillhub_mcp.search.likelihood import Evidence, Meaning, evidence_of, likelihood
from skillhub_mcp.search.query import ALL_ORIGINS, Query, TermOrigin, parse_query
from skillhub_mcp.search.ranking import Ranking, best, rank, text_scores
from skillhub_mcp.search.rerankers import Reranker

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from skillhub_mcp.embedders.base import Embedder, Vector

log = logging.getLogger(__name__)

# How many of the best by text are compared in meaning, too.
_CANDIDATES = 100
# The scale for libraries that are too small to measure one: that of the word vectors.
_USUAL_SCALE = NearnessScale(far=0.17, near=0.45)
# How far apart `far` and `near` are with any model. Of few skills a pair of copies would have them farther apart, and
# skills that have nothing in common would make any question near.
_SPANS = (0.1, 0.4)
# What full nearness in meaning adds, where the best text score counts 1.
MEANING = 0.75
# The least nearness of an English question. It is farther from most descriptions than two of these are from each other:
# with 0 as the least, nearly all would be as far. In another language, and of a pasted text, what is below 0 says
# nothing (docs/benchmarks.md).
_FARTHEST = -0.25
# Models take about so many characters; what a text wants is mostly said by then.
_MOST_EMBEDDED = 8_000
PROVIDER_REST_SECONDS = 30.0
_CACHED_QUERY_VECTORS = 256
_RERANKED_BY_MODEL = 20


class SearchMode(str, Enum):
    """What finds candidates: text, vectors, both, or (`auto`) both where that measures best."""

    AUTO = "auto"
    FTS = "fts"
    VECTOR = "vector"
    HYBRID = "hybrid"


RetrievalMode = Literal["fts", "vector", "hybrid"]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What to search for: a normalised text, among which directories, and at least how many candidates.

    The row whose name is the text, `named`, comes first, whatever it scores. `describe` returns the name and
    description of a row, for a reranker that reads them.
    """

    text: str
    limit: int
    among: frozenset[str]
    named: str = ""
    describe: Callable[[str], tuple[str, str]] = lambda _: ("", "")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of one search, best first, and what they were chosen by.

    `nearness` is that in meaning of each hit, NaN without a vector. The `evidence` is for the first hit, where there is
    one.
    """

    hits: Sequence[Hit]
    query: Query
    nearness: Sequence[float]
    mode: RetrievalMode
    candidates: Candidates
    evidence: Evidence | None = None


class Searcher:
    """Searches an index. Safe to use from several threads; caches the vectors of the last queries.

    While the `embedder_breaker` is open, the embedder is not called; indexing may open it too.
    """

    def __init__(
        self,
        *,
        mode: SearchMode = SearchMode.AUTO,
        fields: frozenset[str] = ALL_FIELDS,
        embedder: Embedder | None = None,
        meaning: float = MEANING,
        model: Reranker | None = None,
        origins: frozenset[TermOrigin] = ALL_ORIGINS,
        embedder_breaker: CircuitBreaker | None = None,
        clock: Callable[[], float] = time.monotonic,
        observer: Observer = NULL_OBSERVER,
    ) -> None:
        self._mode = mode
        self._fields = fields
        self._kind = Meaning.WORDS if embedder is None or embedder.is_instant else Meaning.SENTENCES
        self._meaning = meaning
        self._model = model
        self._origins = origins
        self._observer = observer
        self._embedder_breaker = embedder_breaker or CircuitBreaker(PROVIDER_REST_SECONDS, clock=clock)
        self._model_breaker = CircuitBreaker(PROVIDER_REST_SECONDS, clock=clock)
        self._embed = None
        if embedder is not None and mode is not SearchMode.FTS:
            self._embed = lru_cache(maxsize=_CACHED_QUERY_VECTORS)(embedder.embed_query)

    def search(self, index: SearchIndex, request: SearchRequest) -> SearchResult:
        """Return the rows that fit, best first. Raises IndexDamaged.

        A provider that fails is no error: the search goes on without it.
        """
        import numpy as np

        query = parse_query(request.text, index.statistics, origins=self._origins)
        vector = self._query_vector(index, request.text[:_MOST_EMBEDDED])
        mode: RetrievalMode = "fts" if vector is None else "hybrid"
        # By vectors alone, a skill that has none yet could not be found at all.
        if vector is not None and self._mode is SearchMode.VECTOR and not index.lacks_vectors:
            mode = "vector"
        with observe(self._observer, SearchStepEvent(name="candidates")):
            candidates, words, numbers = self._candidates(index, request, query, vector, mode)
            named = candidates.number(request.named) if request.named in request.among else None
            if named is not None:
                numbers = np.union1d(numbers, [named])
        with observe(self._observer, SearchStepEvent(name="score")):
            least = _FARTHEST if query.typed and not query.foreign else 0.0
            near = _nearness(index, candidates, numbers, vector, least=least)
            ranking = rank(words, numbers, near, meaning=self._meaning, by_meaning_alone=mode == "vector")
            ranking = self._reranked(candidates, request, ranking).with_first(named)
            if not len(ranking.numbers):
                return SearchResult([], query, [], mode, candidates)
            evidence = evidence_of(query, index.statistics, ranking, skills=len(request.among))
            likely = 1.0 if ranking.numbers[0] == named else likelihood(evidence, self._kind)
            hits = _hits(candidates, ranking, likely, by_words=mode != "vector")
        return SearchResult(hits, query, ranking.nearness.tolist(), mode, candidates, evidence)

    def explain(self, index: SearchIndex, result: SearchResult, directory: str) -> tuple[Contribution, ...]:
        """Return what each clause of a query contributes to the text score of a skill, a hit or not, the most first.

        Nothing for one that the index has not. Raises IndexDamaged.
        """
        candidates, number = result.candidates, result.candidates.number(directory)
        if number is None:
            own = frozenset({directory})
            candidates = find_candidates(
                index, result.query.terms, among=own, wanted=1, fields=self._fields, named=directory
            )
            number = candidates.number(directory)
        return () if number is None else tuple(contributions(result.query, candidates, number))

    def _query_vector(self, index: SearchIndex, text: str) -> Vector | None:
        """Return the vector of the query, or None where the index has none like it or the provider fails."""
        if index.dimension is None or self._embed is None or self._embedder_breaker.is_open:
            return None
        try:
            with observe(self._observer, SearchStepEvent(name="embed")):
                vector = self._embed(text)
            if len(vector) == index.dimension:
                return vector
            reason = f"the query's vector has {len(vector)} numbers, those of the index {index.dimension}"
        except EmbeddingError as error:
            reason = error.message
        self._embedder_breaker.record_failure()
        log.warning("Searching by text alone for a while: %s", reason)
        return None

    def _candidates(
        self, index: SearchIndex, request: SearchRequest, query: Query, vector: Vector | None, mode: RetrievalMode
    ) -> tuple[Candidates, NDArray[Any], NDArray[Any]]:
        """Return the candidates, the text score of each, and the numbers of those that are compared, each once.

        Word vectors only rank what text finds: by themselves they bring little but noise (docs/benchmarks.md).
        """
        import numpy as np

        wanted = max(request.limit, _CANDIDATES)

        def found(vector: Vector | None) -> tuple[Candidates, NDArray[Any], NDArray[Any]]:
            candidates = find_candidates(
                index,
                query.terms,
                among=request.among,
                wanted=wanted,
                vector=vector,
                nearest=max(NEAREST, request.limit),
                fields=self._fields,
                named=request.named,
            )
            words = text_scores(query, candidates)
            numbers = candidates.nearest if mode == "vector" else best(words, limit=wanted)
            return candidates, words, np.union1d(numbers, candidates.nearest)

        if self._mode is SearchMode.AUTO and self._kind is Meaning.WORDS:
            by_text = found(None)
            if vector is None or len(by_text[2]) >= request.limit:
                return by_text
        return found(vector)

    def _reranked(self, candidates: Candidates, request: SearchRequest, ranking: Ranking) -> Ranking:
        """Return the ranking with its best skills in the order of the model, if a model answers."""
        import numpy as np

        if self._model is None or not len(ranking.numbers) or self._model_breaker.is_open:
            return ranking
        shown = ranking.numbers[:_RERANKED_BY_MODEL].tolist()
        described = [request.describe(candidates.directories[number]) for number in shown]
        try:
            chosen = self._model.rerank(request.text[:_MOST_EMBEDDED], described)
        except RerankingError as error:
            self._model_breaker.record_failure()
            log.warning("Ranking without the model for a while: %s", error.message)
            return ranking
        return ranking.with_best_in(np.argsort(-np.array(chosen), kind="stable"))


def _nearness(
    index: SearchIndex, candidates: Candidates, numbers: NDArray[Any], vector: Vector | None, *, least: float
) -> NDArray[Any]:
    """Return the nearness in meaning of those candidates, from `least` to 1, NaN without a vector."""
    import numpy as np

    if vector is None:
        return np.full(len(numbers), np.nan)
    cosines, scale = candidates.cosines(vector, numbers), index.nearness_scale or _USUAL_SCALE
    span = min(max(scale.near - scale.far, _SPANS[0]), _SPANS[1])
    shares = NearnessScale(scale.far, scale.far + span).share(cosines, least=least)
    return np.where(np.isnan(cosines), np.nan, shares)


def _hits(candidates: Candidates, ranking: Ranking, likely: float, *, by_words: bool) -> list[Hit]:
    """Return the ranking, which is not empty, as hits: the first as `likely` as it is, the others in their ratio."""
    scores = (likely * (ranking.totals / max(float(ranking.totals[0]), 1e-9))).clip(0.0, 1.0)
    hits = []
    for number, words, near, score in zip(
        ranking.numbers.tolist(), ranking.words.tolist(), ranking.nearness.tolist(), scores.tolist(), strict=True
    ):
        found = Reason.TEXT if math.isnan(near) else Reason.BOTH if by_words and words > 0.0 else Reason.VECTOR
        hits.append(Hit(candidates.directories[number], score, found))
    return hits
