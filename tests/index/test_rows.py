"""Embedding in batches: publication and failures."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence

import pytest
from tests.search.builders import WordEmbedder

from skillhub_mcp.embedders.base import Vector
from skillhub_mcp.index import rows
from skillhub_mcp.index.rows import BATCH_TEXTS, EmbeddingOptions, RowEmbedder, StoredVector

# Limits how long a test can hang.
LONG = 20.0


def rows_of(embedder: WordEmbedder, *, pause: float = 15.0, cancelled: threading.Event | None = None) -> RowEmbedder:
    return RowEmbedder(
        embedder, options=EmbeddingOptions(pause_seconds=pause), cancelled=cancelled or threading.Event()
    )


def texts(count: int) -> dict[str, str]:
    return {f"/skills/{number:05}": f"text number {number}" for number in range(count)}


class Published(list[dict[str, StoredVector]]):
    """The published batches."""

    def __call__(self, vectors: Mapping[str, StoredVector]) -> None:
        self.append(dict(vectors))


def test_every_text_gets_its_own_vector_in_any_batch() -> None:
    embedder, published = WordEmbedder(), Published()
    asked = texts(BATCH_TEXTS * 2 + 1)
    assert rows_of(embedder).embed(asked, published) is None
    (vectors,) = published
    assert {directory: text for directory, (text, _) in vectors.items()} == asked
    for own in vectors.values():
        assert own[1] == pytest.approx(embedder.embed_query(own[0]))


def test_batches_fit_the_embedder_and_survive_a_later_failure() -> None:
    embedder, published = WordEmbedder(), Published()
    embedder.texts_at_once = 3
    embedder.lasts = 2
    rows_of(embedder).embed(texts(9), published)
    assert [len(vectors) for vectors in published] == [6]


def test_finished_batches_are_published_and_the_rest_is_retried() -> None:
    embedder, published = WordEmbedder(), Published()
    rows = rows_of(embedder, pause=0)
    asked = texts(BATCH_TEXTS * 2 + 1)
    embedder.lasts = 1
    assert rows.embed(asked, published) == "the test's provider has died"
    assert [len(vectors) for vectors in published] == [BATCH_TEXTS]


def test_vectors_are_published_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    published = Published()
    monkeypatch.setattr(rows, "PUBLISHED_AFTER_SECONDS", 0.0)
    rows_of(WordEmbedder()).embed(texts(BATCH_TEXTS * 2 + 1), published)
    assert [len(vectors) for vectors in published] == [100, 100, 1]


def test_failures_back_off_and_are_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    embedder = WordEmbedder()
    embedder.fails = True
    failures: list[bool] = []
    rows = RowEmbedder(
        embedder, options=EmbeddingOptions(on_failure=lambda: failures.append(True)), cancelled=threading.Event()
    )
    pauses = []
    with caplog.at_level(logging.WARNING):
        for _ in range(7):
            rows.embed(texts(1), Published())
            pauses.append(round(rows.pause))
    assert pauses == [15, 30, 60, 120, 240, 300, 300]
    assert [record.message for record in caplog.records] == [
        "Skills without vectors are found by text alone for a while: the test's provider is down"
    ]
    assert len(failures) == 7
    embedder.fails = False
    rows.embed(texts(1), Published())
    assert rows.pause == 0


def test_a_hanging_call_is_abandoned_when_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    cancelled, asked, go_on = threading.Event(), threading.Event(), threading.Event()

    class Hanging(WordEmbedder):
        def embed_documents(self, texts: Sequence[str], *, waiting: bool = False) -> list[Vector]:
            asked.set()
            go_on.wait(LONG)
            return super().embed_documents(texts, waiting=waiting)

    published = Published()
    rows = rows_of(Hanging(), cancelled=cancelled)
    running = threading.Thread(target=lambda: rows.embed(texts(1), published))
    running.start()
    assert asked.wait(LONG)
    cancelled.set()
    running.join(LONG)
    assert not running.is_alive()
    go_on.set()
    assert (published, caplog.records) == ([], [])


def test_a_users_wait_is_limited_and_the_rest_is_not_a_failure() -> None:
    embedder, published = WordEmbedder(), Published()
    rows = rows_of(embedder)
    assert rows.embed(texts(3), published, seconds=0.0) is None
    assert (embedder.texts, published, rows.pause) == ([], [], 0.0)


@pytest.mark.parametrize("known", [None, 16])
def test_vectors_of_a_wrong_length_are_a_failure(known: int | None) -> None:
    embedder, published = WordEmbedder(dimension=16), Published()

    def shrink() -> None:
        if known is not None or embedder.texts:
            embedder.dimension = 8

    embedder.meanwhile = shrink
    failure = rows_of(embedder).embed(texts(BATCH_TEXTS + 1), published, dimension=known)
    assert failure == "The embedding provider answered with vectors of 8 numbers, and the index has 16"
    assert [len(vectors) for vectors in published] == ([] if known else [BATCH_TEXTS])
