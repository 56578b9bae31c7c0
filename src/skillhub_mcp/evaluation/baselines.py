"""The baselines of the hub's search: words alone, LanceDB alone, and the search without one part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from skillhub_mcp.analysis.analyzer import normalise_query, tokens
from skillhub_mcp.search.hits import DEFAULT_CONFIDENCE, confident, near_misses
from skillhub_mcp.search.impacts import ALL_FIELDS
from skillhub_mcp.search.query import ALL_ORIGINS, TermOrigin
from skillhub_mcp.search.searcher import MEANING, Searcher, SearchMode, SearchRequest

if TYPE_CHECKING:
    from skillhub_mcp.embedders.base import Embedder
    from skillhub_mcp.index.search_index import SearchIndex


class EngineAnswer(NamedTuple):
    """The directories of the hits, best first, whether the engine is confident of the best, and its score in 0..1."""

    found: Sequence[str]
    confident: bool
    score: float | None = None


Engine = Callable[[str], EngineAnswer]

_DEPTH = 10

# The ablations: the whole search without one part.
_ABLATIONS: Mapping[str, tuple[float, frozenset[TermOrigin], frozenset[str]]] = {
    "without body": (MEANING, ALL_ORIGINS, ALL_FIELDS - {"body"}),
    "without translations": (MEANING, ALL_ORIGINS - {TermOrigin.TRANSLATION}, ALL_FIELDS),
    "without spelling": (MEANING, ALL_ORIGINS - {TermOrigin.SPELLING}, ALL_FIELDS),
    "without meaning": (0.0, ALL_ORIGINS, ALL_FIELDS),
    "bm25f alone": (0.0, frozenset({TermOrigin.ASKED}), ALL_FIELDS),
}
BASELINES = ("words", "lancedb", *_ABLATIONS)


def make_baseline(name: str, index: SearchIndex, among: frozenset[str], embedder: Embedder | None) -> Engine:
    """Return the engine `name` over the directories `among` of an index."""
    if name == "words":
        return _search_engine(Searcher(mode=SearchMode.FTS), index, among)
    if name == "lancedb":
        return lambda text: EngineAnswer(_match_fields(index, text, among), confident=True)
    meaning, origins, fields = _ABLATIONS[name]
    return _search_engine(Searcher(embedder=embedder, meaning=meaning, origins=origins, fields=fields), index, among)


def _match_fields(index: SearchIndex, text: str, among: frozenset[str]) -> list[str]:
    limit = _DEPTH + max(0, index.statistics.skills - len(among))
    words = " ".join(tokens(normalise_query(text)))
    found = index.keys.directories(index.table.match_fields(words, limit=limit))
    return [directory for directory in found if directory in among][:_DEPTH]


def _search_engine(searcher: Searcher, index: SearchIndex, among: frozenset[str]) -> Engine:
    def search(text: str) -> EngineAnswer:
        result = searcher.search(index, SearchRequest(normalise_query(text), limit=4 * _DEPTH, among=among))
        hits = result.hits
        fits = confident(hits, threshold=DEFAULT_CONFIDENCE)
        shown = hits if fits else near_misses(hits, threshold=DEFAULT_CONFIDENCE)
        found = [hit.directory for hit in shown[:_DEPTH]]
        return EngineAnswer(found, fits, hits[0].score if hits else 0.0)

    return search
