"""A live view as wired by `bootstrap`, and its results."""

from __future__ import annotations

from pathlib import Path

from skillhub_mcp.analysis.analyzer import terms
from skillhub_mcp.embedders.base import Embedder
from skillhub_mcp.index.live import LiveOptions, LiveView
from skillhub_mcp.index.rows import EmbeddingOptions
from skillhub_mcp.index.writer import IndexWriter
from skillhub_mcp.search.candidates import Candidates, find_candidates
from skillhub_mcp.search.impacts import ALL_FIELDS
from skillhub_mcp.skills.roots import make_roots


def live_view(
    db_path: str | Path,
    *roots: str | Path,
    embedder: Embedder | None = None,
    automatic: bool = True,
    background: bool = False,
    lock_timeout: float = 30.0,
) -> LiveView:
    own = EmbeddingOptions(pause_seconds=300.0)
    return LiveView(
        make_roots([str(root) for root in roots]),
        IndexWriter(str(db_path), embedder=embedder, lock_timeout=lock_timeout, embedding=own),
        LiveOptions(automatic=automatic, background=background),
    )


def candidates(
    live: LiveView, query: str, *, fields: frozenset[str] = ALL_FIELDS, among: frozenset[str] | None = None
) -> Candidates:
    view, index = live.view()
    every = frozenset(skill.directory for skill in view.snapshot.everything)
    return find_candidates(index, terms(query), among=every if among is None else among, wanted=10, fields=fields)


def found(live: LiveView, query: str, *, fields: frozenset[str] = ALL_FIELDS) -> list[str]:
    """The sorted directory names of the candidates."""
    return sorted(Path(directory).name for directory in candidates(live, query, fields=fields).directories)
