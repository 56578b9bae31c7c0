"""The features of a skill: encoded, decoded and compared."""

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
    similarity_mask,
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


def test_the_same_text_is_similar_and_another_is_not() -> None:
    text = "Apply a database migration to production, step by step, with a way back. " * 3
    one, same = (decode_features(encode_features(SKILL, text).encoded) for _ in range(2))
    nearly = decode_features(encode_features(SKILL, f"{text} walrus").encoded)
    other = decode_features(encode_features(make_skill("painter", "Paint the walls of a house today."), text).encoded)
    skills = [one, same, nearly, other]
    assert similarity_mask(skills, threshold=1.0).tolist()[0] == [True, True, False, False]
    assert similarity_mask(skills, threshold=0.9).tolist()[0] == [True, True, True, False]
    assert similarity_mask(skills, threshold=0.5).tolist() == [[True, True, True, False]] * 3 + [
        [False, False, False, True]
    ]


def test_skills_that_share_a_long_body_and_differ_in_purpose_are_not_similar() -> None:
    body = " ".join(f"word{number}" for number in range(300))
    up = make_skill("db-apply", "Apply a database migration.")
    down = make_skill("db-revert", "Revert a database migration.")
    first, second = (decode_features(encode_features(skill, body).encoded) for skill in (up, down))
    assert similarity_mask([first, second], threshold=0.9).tolist() == [[True, False], [False, True]]


def test_a_skill_without_terms_is_similar_to_none() -> None:
    nothing, something = (
        decode_features(encode_features(make_skill(name, text), "").encoded) for name, text in (("-", ""), ("a", "b"))
    )
    assert similarity_mask([nothing, nothing, something], threshold=0.9)[0].tolist() == [False, False, False]
    assert similarity_mask([], threshold=0.9).tolist() == []
    # Nor does it keep other skills from being compared.
    tools = (make_skill("db-tool", "Migrate the database."), make_skill("db-tool", "Migrate the database."))
    first, second = (
        decode_features(encode_features(skill, body).encoded)
        for skill, body in zip(tools, ("walk " * 50, " ".join(f"word{n}" for n in range(50))), strict=True)
    )
    assert not similarity_mask([first, second, nothing, nothing], threshold=0.9)[0, 1]


def test_words_are_kept_as_written_for_correcting_queries() -> None:
    assert short_words(["Automatically sorts a PDF", "請求"]) == {"automatically", "sorts", "pdf", "請求"}
