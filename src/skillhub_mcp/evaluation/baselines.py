"""Which ways of searching are compared? Ours, ours without one part at a time, and two that others would build."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from skillhub_mcp.analysis.analyzer import normalise_query
from skillhub_mcp.index.features import FIELDS
from skillhub_mcp.search.query import ALL_ORIGINS, TermOrigin
from skillhub_mcp.search.ranking import NEAR_MISSES
from skillhub_mcp.search.rerankers.fixed import FixedWeights
from skillhub_mcp.search.scoring import ALL_FIELDS
from skillhub_mcp.search.searcher import Searcher, SearchMode, SearchRequest

if TYPE_CHECKING:
    from skillhub_mcp.embedders.base import Embedder
    from skillhub_mcp.index.lance import LanceIndex
    from skillhub_mcp.skills.model import Skill

# The hits best first, as directories, and whether the engine says that the best of them fits.
EngineAnswer = tuple[Sequence[str], bool]
Engine = Callable[[str], EngineAnswer]

_DEPTH = 10
_NOT_SAID = True
_BARE_WEIGHTS = FixedWeights(meaning=0.0, phrase=0.0)
_ONLY_ASKED = frozenset({TermOrigin.ASKED})

# Each part on its own taken from the whole.
_WITHOUT: Mapping[str, tuple[FixedWeights | None, frozenset[TermOrigin], frozenset[str]]] = {
    "without body": (None, ALL_ORIGINS, ALL_FIELDS - {"body"}),
    "without synonyms": (None, ALL_ORIGINS - {TermOrigin.SYNONYM}, ALL_FIELDS),
    "without translations": (None, ALL_ORIGINS - {TermOrigin.TRANSLATION}, ALL_FIELDS),
    "without spelling": (None, ALL_ORIGINS - {TermOrigin.SPELLING, TermOrigin.JOINED}, ALL_FIELDS),
    "without phrases": (FixedWeights(phrase=0.0), ALL_ORIGINS, ALL_FIELDS),
    "without meaning": (FixedWeights(meaning=0.0), ALL_ORIGINS, ALL_FIELDS),
    "bm25f alone": (_BARE_WEIGHTS, _ONLY_ASKED, ALL_FIELDS),
}
BASELINES = ("words", "seed", "fts5", *_WITHOUT)


@contextmanager
def open_baseline(
    name: str, index: LanceIndex, skills: Sequence[tuple[Skill, str]], among: frozenset[str], embedder: Embedder | None
) -> Iterator[Engine]:
    """Yield the engine of that name over `among` of an index, whose `skills` have those bodies."""
    if name == "words":
        yield _ours(Searcher(mode=SearchMode.FTS), index, among)
    elif name == "seed":
        yield lambda text: (
            [one.directory for one in index.match_fields(normalise_query(text), limit=_DEPTH, among=among)],
            _NOT_SAID,
        )
    elif name == "fts5":
        with closing(_fts5(skills, among)) as connection:
            yield lambda text: (_ask_fts5(connection, text), _NOT_SAID)
    else:
        weights, origins, fields = _WITHOUT[name]
        yield _ours(Searcher(embedder=embedder, weights=weights, origins=origins, fields=fields), index, among)


def _ours(searcher: Searcher, index: LanceIndex, among: frozenset[str]) -> Engine:
    def ask(text: str) -> EngineAnswer:
        hits = searcher.search(index, SearchRequest(normalise_query(text), limit=4 * _DEPTH, among=among)).hits
        fits = bool(hits) and hits[0].fits
        # As the hub does: where nothing fits, near misses alone.
        return [hit.directory for hit in hits[: _DEPTH if fits else NEAR_MISSES]], fits

    return ask


def _fts5(skills: Sequence[tuple[Skill, str]], among: frozenset[str]) -> sqlite3.Connection:
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


def _ask_fts5(connection: sqlite3.Connection, text: str) -> list[str]:
    words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
    if not words:
        return []
    rows = connection.execute(
        "SELECT directory FROM skills WHERE skills MATCH ? ORDER BY bm25(skills, 0, 8, 6, 4, 2, 1) LIMIT ?",
        (words, _DEPTH),
    )
    return [directory for (directory,) in rows]
