"""Columns of a terminal: wide characters take two, joined ones none."""

from __future__ import annotations

import pytest

from skillhub_mcp.cli.text_width import cut, pad, width


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("plain", 5),
        ("議事録", 6),
        ("ﾊﾝｶｸ", 4),
        ("e\u0301", 1),
        ("\u1112\u1161\u11ab", 2),  # one syllable of three letters
        ("🌍", 2),
        ("❤\ufe0f", 2),  # shown as an emoji
        ("\u200b\u200d", 0),
        ("", 0),
    ],
)
def test_the_width_is_that_of_the_terminal(text: str, columns: int) -> None:
    assert width(text) == columns


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("fits", 4, "fits"),
        ("does not", 5, "does…"),
        ("word and more", 6, "word…"),  # no space before the dots
        ("議事録を作成", 12, "議事録を作成"),
        ("議事録を作成", 11, "議事録を作…"),
        ("議事録を作成", 10, "議事録を…"),  # half a character is none
        ("any", 0, ""),
        ("any", 1, "…"),
    ],
)
def test_text_is_cut_to_columns_and_never_wider(text: str, columns: int, shown: str) -> None:
    assert cut(text, columns) == shown
    assert width(cut(text, columns)) <= max(columns, 0)


def test_padding_counts_columns() -> None:
    assert pad("議", 4) == "議  "
    assert pad("wide", 2) == "wide"
