"""Both implementations of `Terms`: stacked from skills read one by one, and held in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from tests.search.builders import make_skill

from skillhub_mcp.index.features import (
    SkillFeatures,
    Terms,
    decode_features,
    encode_features,
    hash_phrase,
    hash_term,
    stack_terms,
)
from skillhub_mcp.index.postings import Postings

INVOICES = make_skill("pdf-invoice", "Extract invoices from a PDF.", category="finance", tags=("billing", "pdf"))
LIBRARY = [
    decode_features(encode_features(skill, body).encoded)
    for skill, body in (
        (INVOICES, "pdf pdf body"),
        (make_skill("painter", "Paint walls."), ""),
        (make_skill("-", "The of."), "the"),
        (make_skill("walker", "Walk the dog."), "Extract invoices. A PDF, another PDF."),
    )
]

Has = Callable[[Sequence[int]], Terms]


@pytest.fixture(params=["side by side", "held"])
def terms_of(request: pytest.FixtureRequest) -> Has:
    """Return the terms of the skills of those numbers, in their order."""
    if request.param == "side by side":
        return lambda numbers: stack_terms([LIBRARY[number] for number in numbers])
    return Postings(LIBRARY).terms_of


def found(terms: Terms, *asked: str) -> dict[tuple[str, int], list[int]]:
    """The counts by field of each requested term, in each row that has it."""
    there = terms.occurrences([hash_term(term) for term in asked])
    places = zip(there.term_indices.tolist(), there.rows.tolist(), there.counts.T.tolist(), strict=True)
    return {(asked[term], row): counts for term, row, counts in places}


def test_a_term_stands_where_it_was_written_and_as_often(terms_of: Has) -> None:
    assert found(terms_of([1, 0, 3]), "nobody", "pdf", "paint") == {
        ("pdf", 1): [1, 1, 1, 0, 2],
        ("pdf", 2): [0, 0, 0, 0, 2],
        ("paint", 0): [0, 1, 0, 0, 0],
    }


def test_skills_that_were_not_selected_do_not_show(terms_of: Has) -> None:
    assert found(terms_of([1]), "pdf") == {}
    assert found(terms_of([3]), "pdf").keys() == {("pdf", 0)}


def test_lengths_are_in_terms_by_field(terms_of: Has) -> None:
    assert terms_of([0, 1, 2]).lengths.tolist() == [[2, 3, 2, 1, 3], [1, 2, 0, 0, 0], [0, 0, 0, 0, 0]]


def test_phrases_of_names_and_descriptions_are_known_and_no_others(terms_of: Has) -> None:
    pairs = (("extract", "invoic"), ("invoic", "extract"), ("walk", "dog"), ("pdf", "invoic"))
    rows = terms_of([3, 0]).rows_with_phrases([hash_phrase(*pair) for pair in pairs])
    assert sorted(rows.tolist()) == [0, 1, 1]


@pytest.mark.parametrize("numbers", [[], [2], [0, 1]])
def test_no_terms_and_no_skills_are_no_error(terms_of: Has, numbers: list[int]) -> None:
    terms = terms_of(numbers)
    assert terms.lengths.shape == (len(numbers), 5)
    assert found(terms) == {}
    assert found(terms, "nobody") == {}
    assert terms.occurrences([]).counts.shape == (5, 0)
    assert terms.rows_with_phrases([]).tolist() == []


def test_a_library_without_skills_has_no_terms() -> None:
    nobody: list[SkillFeatures] = []
    for terms in (stack_terms(nobody), Postings(nobody).terms_of([])):
        assert found(terms, "pdf") == {}
        assert terms.lengths.shape == (0, 5)
