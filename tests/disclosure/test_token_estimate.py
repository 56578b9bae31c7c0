"""The estimate of tokens."""

from __future__ import annotations

import pytest

from skillhub_mcp.disclosure.catalogue import estimate_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("four", 1),
        ("fives", 2),
        ("請求書", 3),
        ("번역", 2),
        ("請求書 abc", 4),
        ("。、", 2),
    ],
)
def test_tokens_are_four_letters_or_one_cjk_character(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_the_estimate_for_english_prose_is_within_a_quarter() -> None:
    # In English, three words are about four tokens.
    prose = (
        "Read the invoice, find the number that the supplier printed at the top, and write it into the table. "
        "When the page was scanned, turn it upright first; a crooked page hides its numbers from every reader. "
    ) * 20
    by_words = len(prose.split()) * 4 / 3
    assert abs(estimate_tokens(prose) - by_words) <= by_words / 4


def test_the_estimate_grows_with_the_text() -> None:
    text = "Read 請求書, then write. " * 40
    costs = [estimate_tokens(text[:end]) for end in range(len(text))]
    assert costs == sorted(costs)
