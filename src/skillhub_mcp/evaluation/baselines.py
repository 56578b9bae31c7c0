"""The baselines that the hub's search is compared with: two simple engines, and its own search without one part."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from skillhub_mcp.analysis.analyzer import normalise_query, tokens
from skillhub_mcp.index.features import FIELDS
from skillhub_mcp.index.impacts import ALL_FIELDS
from skillhub_mcp.search.hits import DEFAULT_CONFIDENCE, confident, near_misses
from skillhub_mcp.search.query import ALL_ORIGINS, TermOrigin
from skillhub_mcp.search.searcher import MEANING, Searcher, SearchMode, SearchRequest

if TYPE_CHECKING:
    from skillhub_mcp.embedders.base import Embedder
    from skillhub_mcp.index.search_index import SearchIndex
    from skillhub_mcp.skills.model import Skill


class EngineAnswer(NamedTuple):
    """The directories of the hits, best first, whether the engine is confident of the best, and its score in 0..1."""

    found: Sequence[str]
    confident: bool
    score: float | None = None


Engine = Callable[[str], EngineAnswer]

_DEPTH = 10
_ALWAYS_CONFIDENT = True
_QUERY_TERMS_ONLY = frozenset({TermOrigin.ASKED})

# The ablations: the whole search without one part.
_ABLATIONS: Mapping[str, tuple[float, frozenset[TermOrigin], frozenset[str]]] = {
    "without body": (MEANING, ALL_ORIGINS, ALL_FIELDS - {"body"}),
    "without translations": (MEANING, ALL_ORIGINS - {TermOrigin.TRANSLATION}, ALL_FIELDS),
    "without spelling": (MEANING, ALL_ORIGINS - {TermOrigin.SPELLING}, ALL_FIELDS),
    "without meaning": (0.0, ALL_ORIGINS, ALL_FIELDS),
    "bm25f alone": (0.0, _QUERY_TERMS_ONLY, ALL_FIELDS),
}
BASELINES = ("words", "lancedb", "fts5", *_ABLATIONS)


@contextmanager
def open_baseline(
    name: str, index: SearchIndex, skills: Sequence[tuple[Skill, str]], among: frozenset[str], embedder: Embedder | None
) -> Iterator[Engine]:
    """Yield the engine `name` over the directories `among` of an index; `skills` are the skills with their bodies."""
    if name == "words":
        yield _search_engine(Searcher(mode=SearchMode.FTS), index, among)
    elif name == "lancedb":
        yield lambda text: EngineAnswer(
            _match_fields(index, text, among),
            _ALWAYS_CONFIDENT,
        )
    elif name == "fts5":
        with closing(_build_fts5(skills, among)) as connection:
            yield lambda text: EngineAnswer(_search_fts5(connection, text), _ALWAYS_CONFIDENT)
    else:
        meaning, origins, fields = _ABLATIONS[name]
        yield _search_engine(Searcher(embedder=embedder, meaning=meaning, origins=origins, fields=fields), index, among)


def _match_fields(index: SearchIndex, text: str, among: frozenset[str]) -> list[str]:
    # Rows that are not among them take up part of the limit.
    limit = _DEPTH + max(0, index.statistics.skills - len(among))
    words = " ".join(tokens(normalise_query(text)))
    found = index.keys.directories(index.table.match_fields(words, limit=limit))
    return [directory for directory in found if directory in among][:_DEPTH]


def _search_engine(searcher: Searcher, index: SearchIndex, among: frozenset[str]) -> Engine:
    def search(text: str) -> EngineAnswer:
        result = searcher.search(index, SearchRequest(normalise_query(text), limit=4 * _DEPTH, among=among))
        hits = result.hits
        fits = confident(hits, threshold=DEFAULT_CONFIDENCE)
        # As in the hub: where no skill matches, only near misses are returned.
        shown = hits if fits else near_misses(hits, threshold=DEFAULT_CONFIDENCE)
        found = [hit.directory for hit in shown[:_DEPTH]]
        return EngineAnswer(found, fits, hits[0].score if hits else 0.0)

    return search


def _build_fts5(skills: Sequence[tuple[Skill, str]], among: frozenset[str]) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    columns = ", ".join(FIELDS)
    connection.execute(f"CREATE VIRTUAL TABLE skills USING fts5(directory UNINDEXED, {columns}, tokenize='porter')")
    connection.executemany(
        f"INSERT INTO skills(directory, {columns}) VALUES (?, ?, ?, ?, ?, ?)",  # noqa: S608 - our own column names
        (
            (skill.directory, skill.name, skill.description, " ".join(skill.tags), skill.category or "", body)
            for skill, body in skills
            if skill.directory in among
        ),
    )
    return connection


def _search_fts5(connection: sqlite3.Connection, text: str) -> list[str]:
    words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
    if not words:
        return []
    rows = connection.execute(
        "SELECT directory FROM skills WHERE skills MATCH ? ORDER BY bm25(skills, 0, 8, 6, 4, 2, 1) LIMIT ?",
        (words, _DEPTH),
    )
    return [directory for (directory,) in rows]
