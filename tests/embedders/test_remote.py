"""The remote embedder: batches, splitting of refused ones, and sanitized texts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.embedders.base import Purpose, Vector
from skillhub_mcp.embedders.remote import (
    MAX_BATCH_BYTES,
    MAX_BATCH_TEXTS,
    MAX_TEXT_BYTES,
    RemoteEmbedder,
    RequestFailed,
    batches,
    sendable,
)
from skillhub_mcp.errors import EmbeddingError


def test_a_failure_other_than_a_refusal_is_not_retried_in_parts() -> None:
    sizes = []

    def fail(texts: Sequence[str], *, purpose: Purpose, timeout: float) -> list[Vector]:
        del purpose, timeout
        sizes.append(len(texts))
        raise RequestFailed("is gone")

    with pytest.raises(EmbeddingError, match="The embedding provider a:b is gone"):
        RemoteEmbedder("a:b", fail, waiting=9.0, unhurried=9.0).embed_documents(["x"] * 80)
    assert sizes == [80]


TEXTS = st.text(max_size=50) | st.builds(lambda letter, n: letter * n, st.characters(), st.integers(1, 9_000))


@pytest.mark.slow
@given(st.lists(TEXTS, max_size=300))
def test_batches_are_full_in_order_and_within_bounds(texts: list[str]) -> None:
    made = list(batches(texts))
    assert [text for batch in made for text in batch] == [sendable(text) for text in texts]
    assert all(0 < len(batch) <= MAX_BATCH_TEXTS for batch in made)
    assert all(sum(len(text.encode()) for text in batch) <= MAX_BATCH_BYTES for batch in made)
    for batch, following in itertools.pairwise(made):
        size = sum(len(text.encode()) for text in [*batch, following[0]])
        assert len(batch) == MAX_BATCH_TEXTS or size > MAX_BATCH_BYTES


@given(TEXTS)
def test_long_texts_are_cut_between_characters(text: str) -> None:
    plain = text.encode(errors="replace").decode()
    kept = sendable(text)
    assert plain.startswith(kept)
    assert len(kept.encode()) <= MAX_TEXT_BYTES
    if kept != plain:
        assert len(kept.encode()) > MAX_TEXT_BYTES - 4
