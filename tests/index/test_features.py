"""The features of a skill: encoded and decoded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.search.builders import make_skill

from skillhub_mcp.analysis.analyzer import term_counts
from skillhub_mcp.index.features import (
    SkillFeatures,
    decode_features,
    encode_features,
    hash_term,
    short_words,
    unpack_counts,
)

SKILL = make_skill("pdf-invoice", "Extract invoices from a PDF.", category="finance", tags=("billing", "pdf"))


def counts(features: SkillFeatures, term: str) -> list[int]:
    """How often a term occurs in each field."""
    (place,) = (features.hashes == hash_term(term)).nonzero()[0].tolist()
    found: list[int] = unpack_counts(features.counts)[:, place].tolist()
    return found


def test_a_term_stands_where_it_was_written_and_as_often() -> None:
    features = decode_features(encode_features(SKILL, "pdf pdf body").encoded)
    assert features.lengths.tolist() == [2, 3, 2, 1, 3]
    assert counts(features, "pdf") == [1, 1, 1, 0, 2]
    assert counts(features, "financ") == [0, 0, 0, 1, 0]


def test_a_count_beyond_its_bits_stays_the_most_that_they_hold() -> None:
    skill = make_skill("x", "word " * 1_000)
    assert counts(decode_features(encode_features(skill, "word " * 20_000).encoded), "word") == [0, 127, 0, 0, 4_095]


@given(st.text(max_size=300), st.text(max_size=300))
def test_every_term_of_any_text_is_counted(description: str, body: str) -> None:
    skill = make_skill("x", description)
    found = decode_features(encode_features(skill, body).encoded)
    for column, text in ((1, description), (4, body)):
        for term, count in term_counts(text).items():
            assert counts(found, term)[column] >= min(count, 127)


def test_features_that_were_stored_with_phrases_can_still_be_read() -> None:
    encoded = bytearray(encode_features(SKILL, "body").encoded)
    encoded[24:28] = (2).to_bytes(4, "little")
    features = decode_features(bytes(encoded) + b"phrases!")
    assert counts(features, "pdf") == [1, 1, 1, 0, 0]


@pytest.mark.parametrize("kept", [0, 4, 20, 27, 28, -4, -1])
def test_features_that_were_cut_are_refused(kept: int) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - numpy says it in its way
        decode_features(encode_features(SKILL, "body").encoded[:kept])


def test_words_are_kept_as_written_for_correcting_queries() -> None:
    assert short_words(["Automatically sorts a PDF", "請求"]) == {"automatically", "sorts", "pdf", "請求"}
