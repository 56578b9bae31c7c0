"""What ranking keeps of a skill, there and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.search.pieces import make_skill

from skillhub_mcp.search.analysis import term_counts
from skillhub_mcp.search.features import (
    alike,
    features_of,
    hash_of,
    parts_of,
    short_words,
    side_by_side,
)

SKILL = make_skill("pdf-invoice", "Extract invoices from a PDF.", category="finance", tags=("billing", "pdf"))


def test_a_count_beyond_its_bits_stays_the_most_that_they_hold() -> None:
    skill = make_skill("x", "word " * 1_000)
    found = side_by_side([parts_of(features_of(skill, "word " * 20_000).encoded)])
    assert found.occurrences([hash_of("word")]).counts.T.tolist() == [[0, 127, 0, 0, 4_095]]


@given(st.text(max_size=300), st.text(max_size=300))
def test_every_term_of_any_text_is_counted(description: str, body: str) -> None:
    skill = make_skill("x", description)
    found = side_by_side([parts_of(features_of(skill, body).encoded)])
    for column, text in ((1, description), (4, body)):
        for term, count in term_counts(text).items():
            assert found.occurrences([hash_of(term)]).counts[column, 0] >= min(count, 127)


def test_the_same_text_is_alike_and_another_is_not() -> None:
    text = "Apply a database migration to production, step by step, with a way back. " * 3
    one, same = (parts_of(features_of(SKILL, text).encoded) for _ in range(2))
    nearly = parts_of(features_of(SKILL, f"{text} walrus").encoded)
    other = parts_of(features_of(make_skill("painter", "Paint the walls of a house today."), text).encoded)
    skills = [one, same, nearly, other]
    assert alike(skills, least=1.0).tolist()[0] == [True, True, False, False]
    assert alike(skills, least=0.9).tolist()[0] == [True, True, True, False]
    assert alike(skills, least=0.5).tolist() == [[True, True, True, False]] * 3 + [[False, False, False, True]]


def test_skills_that_share_a_long_body_and_differ_in_what_they_are_for_are_not_alike() -> None:
    body = " ".join(f"word{number}" for number in range(300))
    up = make_skill("db-apply", "Apply a database migration.")
    down = make_skill("db-revert", "Revert a database migration.")
    first, second = (parts_of(features_of(skill, body).encoded) for skill in (up, down))
    assert alike([first, second], least=0.9).tolist() == [[True, False], [False, True]]


def test_a_skill_without_any_term_is_like_no_other() -> None:
    nothing, something = (
        parts_of(features_of(make_skill(name, text), "").encoded) for name, text in (("-", ""), ("a", "b"))
    )
    assert alike([nothing, nothing, something], least=0.9)[0].tolist() == [False, False, False]
    assert alike([], least=0.9).tolist() == []
    # Nor does it keep others from being looked at.
    tools = (make_skill("db-tool", "Migrate the database."), make_skill("db-tool", "Migrate the database."))
    first, second = (
        parts_of(features_of(skill, body).encoded)
        for skill, body in zip(tools, ("walk " * 50, " ".join(f"word{n}" for n in range(50))), strict=True)
    )
    assert not alike([first, second, nothing, nothing], least=0.9)[0, 1]


def test_words_are_kept_as_written_for_mending_others() -> None:
    assert short_words(["Automatically sorts a PDF", "請求"]) == {"automatically", "sorts", "pdf", "請求"}
