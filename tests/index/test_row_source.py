"""Rows are read, and embedded without a request, when they are asked for."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence

import pytest
from tests.search.builders import WordEmbedder, make_skill

from skillhub_mcp.index import row_source
from skillhub_mcp.index.progress import no_progress
from skillhub_mcp.index.row_embedder import EmbeddingOptions, RowEmbedder
from skillhub_mcp.index.row_source import RowSource
from skillhub_mcp.index.rows import StoredVector

# Their files are away: the rows are there all the same, as after a removal that the scan did not see yet.
SKILLS = [make_skill(f"skill-{number}") for number in range(6)]


@pytest.fixture(autouse=True)
def two_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_source, "_EMBEDDED_AT_ONCE", 2)


def source(embedder: WordEmbedder | None, vectors: dict[str, StoredVector] | None = None) -> RowSource:
    rows = None
    if embedder is not None:
        rows = RowEmbedder(embedder, options=EmbeddingOptions(), cancelled=threading.Event())
    return RowSource(
        SKILLS,
        vectors or {},
        key_of=lambda skill: f"hub/{skill.name}",
        embedder=rows,
        dimension=None,
        check=lambda: None,
        progress=no_progress,
    )


def names(directories: Sequence[str] | set[str]) -> list[str]:
    return sorted(directory.rpartition("/")[2] for directory in directories)


def test_no_more_is_embedded_than_what_was_asked_for() -> None:
    embedder = WordEmbedder()
    rows = source(embedder)
    assert (rows.dimension, len(embedder.texts)) == (16, 2)
    assert [row.vector is not None for row in itertools.islice(iter(rows), 3)] == [True] * 3
    assert len(embedder.texts) == 4
    # Reading it once more, as after a table that had to be removed, begins anew.
    assert [row.skill for row in rows] == SKILLS
    assert (rows.unembedded, rows.failure) == (set(), None)


def test_what_failed_on_the_way_is_told_and_comes_later() -> None:
    embedder = WordEmbedder()
    embedder.lasts = 2
    rows = source(embedder)
    assert [row.vector is None for row in rows] == [False] * 4 + [True] * 2
    assert names(rows.unembedded) == ["skill-4", "skill-5"]
    assert rows.failure == "the test's provider has died"


def test_a_vector_that_is_there_is_not_made_again_and_a_stale_one_counts_as_missing() -> None:
    fresh, stale = (StoredVector(text, [0.0] * 16) for text in (SKILLS[0].searchable_text, None))
    embedder = WordEmbedder()
    rows = list(source(embedder, {SKILLS[0].directory: fresh}))
    assert (rows[0].vector, len(embedder.texts)) == (fresh.vector, 5)
    without = source(None, {SKILLS[1].directory: stale})
    assert [(row.vector is not None, row.is_stale) for row in without][:2] == [(False, False), (True, True)]
    assert len(without.unembedded) == 6
