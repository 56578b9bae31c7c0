"""The number of hits that a model is shown, and the length of descriptions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.disclosure.hits import descriptions, in_brief, shown
from skillhub_mcp.sanitize import for_model, visible

SCORES = st.lists(st.floats(0, 1), max_size=30).map(lambda scores: sorted(scores, reverse=True))
# What a cut may fall into: tags, emoji of several characters, accents, joiners, scripts without blanks.
PIECES = ["a", "Z", "word ", " ", ". ", "e.g. ", "</x>", "<", "&lt;", "。", "会", "é", "e\u0301", "\u200d", "👍🏽", "❤️"]
PIECES += ["می\u200cخو", "👨\u200d👩\u200d👧", "क्\u200dष", "\n", "…"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=300).map("".join)


# How many


@given(SCORES)
def test_at_least_five_hits_are_shown(scores: list[float]) -> None:
    assert min(5, len(scores)) <= shown(scores) <= len(scores)


@given(SCORES, st.floats(0, 1))
def test_a_higher_score_never_hides_a_shown_hit(scores: list[float], other: float) -> None:
    """One more hit is shown, or was not worth it; the others stay."""
    assert shown(scores) <= shown(sorted([*scores, min([other, *scores[:1]])], reverse=True)) <= shown(scores) + 1


@pytest.mark.parametrize(
    ("scores", "many"),
    [
        ([0.95, *[0.3] * 9], 5),
        # Hits near the first are shown.
        ([0.95, *[0.9] * 6, *[0.3] * 3], 7),
        ([1.0, *[0.9] * 9], 10),
        # No clear first hit.
        ([0.89, *[0.1] * 9], 10),
        ([0.4, 0.3, 0.3], 3),
        # A list by name has no scores.
        ([0.0] * 10, 10),
        ([], 0),
    ],
)
def test_a_clear_first_hit_shortens_the_answer(scores: list[float], many: int) -> None:
    assert shown(scores) == many


# How much


def test_three_descriptions_are_whole_and_the_others_brief() -> None:
    texts = [f"Skill number {number} does this. " + "It is used for much else. " * 30 for number in range(5)]
    reported = descriptions(texts)
    assert reported[:3] == [text.strip() for text in texts[:3]]
    assert all(100 < len(text) <= 170 and text.endswith("else. …") for text in reported[3:])


def test_equal_brief_descriptions_are_extended() -> None:
    head = "Provides instructions for implementing, integrating, or configuring the software kit for mobile apps, " * 2
    texts = ["First.", "Second.", "Third.", f"{head}banner ads.", f"{head}rewarded ads.", f"Another: {head}"]
    reported = descriptions(texts)
    assert reported[3:5] == texts[3:5]
    assert reported[5].endswith("…")


@given(st.lists(TEXTS, max_size=12), st.integers(0, 3))
def test_descriptions_are_sanitized_bounded_and_distinct(texts: list[str], whole: int) -> None:
    reported = descriptions(texts, whole=whole)
    seen = [for_model(text) for text in texts]
    assert len(reported) == len(texts)
    for number, (text, one) in enumerate(zip(seen, reported, strict=True)):
        assert len(one) <= 1_024
        assert one == text or one.endswith("…")
        assert number >= whole or one == text or len(one) > 512
        assert visible(one) == one
    alike = [one for one in reported if reported.count(one) > 1]
    assert all(one in seen or len(one) > 512 for one in alike)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("Short. As it is.", "Short. As it is."),
        # Cut after a sentence in the second half.
        ("Reads files of all kinds. Then it prints more", "Reads files of all kinds. …"),
        ("Reads. Then it prints what it has read and more", "Reads. Then it prints what it has read…"),
        # A full stop inside a sentence.
        ("Reads files of many kinds, e.g. PDF and other formats", "Reads files of many kinds, e.g. PDF and…"),
        ("Reads files of all kinds for v1.2, v1.3 and others", "Reads files of all kinds for v1.2, v1.3…"),
        (f"{'議' * 25}。{'録' * 25}。", f"{'議' * 25}。 …"),
        (f"{'議' * 50}。", f"{'議' * 39}…"),
        ("x" * 60, "x" * 39 + "…"),
    ],
)  # fmt: skip
def test_a_text_is_truncated_after_a_sentence_or_a_word(text: str, cut: str) -> None:
    assert in_brief(text, 40) == cut
