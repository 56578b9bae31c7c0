"""The features of a skill: encoded and decoded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.search.builders import make_skill

from skillhub_mcp.analysis.analyzer import term_counts
from skillhub_mcp.index.features import (
    decode_features,
    encode_features,
    hash_term,
    short_words,
    stack_terms,
)

SKILL = make_skill("pdf-invoice", "Extract invoices from a PDF.", category="finance", tags=("billing", "pdf"))


def test_a_count_beyond_its_bits_stays_the_most_that_they_hold() -> None:
    skill = make_skill("x", "word " * 1_000)
    found = stack_terms([decode_features(encode_features(skill, "word " * 20_000).encoded)])
    assert found.occurrences([hash_term("word")]).counts.T.tolist() == [[0, 127, 0, 0, 4_095]]


@given(st.text(max_size=300), st.text(max_size=300))
def test_every_term_of_any_text_is_counted(description: str, body: str) -> None:
    skill = make_skill("x", description)
    found = stack_terms([decode_features(encode_features(skill, body).encoded)])
    for column, text in ((1, description), (4, body)):
        for term, count in term_counts(text).items():
            assert found.occurrences([hash_term(term)]).counts[column, 0] >= min(count, 127)


def test_words_are_kept_as_written_for_correcting_queries() -> None:
    assert short_words(["Automatically sorts a PDF", "請求"]) == {"automatically", "sorts", "pdf", "請求"}
