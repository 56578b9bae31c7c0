"""What ranking keeps of a skill, there and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.search.pieces import make_skill

from skillhub_mcp.search.analysis import term_counts
from skillhub_mcp.search.features import (
    FIELDS,
    features_of,
    hash_of,
    likeness,
    parts_of,
    phrase_hash,
    short_words,
    side_by_side,
)

SKILL = make_skill("pdf-invoice", "Extract invoices from a PDF.", category="finance", tags=("billing", "pdf"))


def test_counts_come_back_by_field() -> None:
    one = parts_of(features_of(SKILL, "pdf pdf body").encoded)
    other = parts_of(features_of(make_skill("painter", "Paint walls."), "").encoded)
    found = side_by_side([one, other])
    assert found.counts_of(hash_of("pdf")).tolist() == [[1, 1, 1, 0, 2], [0, 0, 0, 0, 0]]
    assert found.counts_of(hash_of("nobody")).tolist() == [[0] * len(FIELDS)] * 2
    assert found.lengths.tolist() == [[2, 3, 2, 1, 3], [1, 2, 0, 0, 0]]


def test_phrases_of_name_and_description_are_known() -> None:
    found = side_by_side([parts_of(features_of(SKILL, "walk the dog").encoded)])
    assert found.have_phrase(phrase_hash("extract", "invoic")).tolist() == [1.0]
    assert found.have_phrase(phrase_hash("invoic", "extract")).tolist() == [0.0]
    assert found.have_phrase(phrase_hash("walk", "dog")).tolist() == [0.0]


def test_no_skills_side_by_side_are_empty() -> None:
    found = side_by_side([])
    assert found.counts_of(1).shape == (0, len(FIELDS))
    assert found.have_phrase(1).shape == (0,)


def test_a_count_beyond_its_bits_stays_the_most_that_they_hold() -> None:
    skill = make_skill("x", "word " * 1_000)
    found = side_by_side([parts_of(features_of(skill, "word " * 20_000).encoded)])
    assert found.counts_of(hash_of("word")).tolist() == [[0, 127, 0, 0, 4_095]]


@given(st.text(max_size=300), st.text(max_size=300))
def test_every_term_of_any_text_is_counted(description: str, body: str) -> None:
    skill = make_skill("x", description)
    found = side_by_side([parts_of(features_of(skill, body).encoded)])
    for column, text in ((1, description), (4, body)):
        for term, count in term_counts(text).items():
            assert found.counts_of(hash_of(term))[0, column] >= min(count, 127)


def test_the_same_text_is_alike_and_another_is_not() -> None:
    one, same = (parts_of(features_of(SKILL, "body text").encoded) for _ in range(2))
    nearly = parts_of(features_of(SKILL, "body text walrus").encoded)
    other = parts_of(features_of(make_skill("painter", "Paint the walls of a house today."), "").encoded)
    assert likeness(one, same, least=0.9) == 1.0
    assert likeness(one, nearly, least=0.8) == 7 / 8
    assert likeness(one, nearly, least=0.9) == 0.0
    assert likeness(one, other, least=0.1) == 0.0


def test_words_are_kept_as_written_for_mending_others() -> None:
    assert short_words(["Automatically sorts a PDF", "請求"]) == {"automatically", "sorts", "pdf", "請求"}
