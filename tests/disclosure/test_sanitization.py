"""Text from a skill is shown on one line, with visible characters only and without markup."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.disclosure.sanitization import escaped, quoted, shortened, shown_name, visible

UNSEEN = {
    "a zero-width space": "\u200b",
    "a joiner": "\u200d",
    "a mark that turns the line round": "\u202e",
    "an isolate": "\u2066",
    "a tag": "\U000e0049",
    "a variation selector": "\ufe0f",
    "a supplementary variation selector": "\U000e0131",
    "a Hangul filler": "\u3164",
    "an empty Braille cell": "\u2800",
    "a grapheme joiner": "\u034f",
    "a soft hyphen": "\u00ad",
    "a byte order mark": "\ufeff",
    "NUL": "\0",
    "an escape sequence's beginning": "\x1b",
    "half of a pair": "\ud800",
    "a private character": "\ue000",
}


@pytest.mark.parametrize("char", UNSEEN.values(), ids=UNSEEN.keys())
def test_what_cannot_be_seen_is_not_shown(char: str) -> None:
    assert visible(f"read{char}me") == "readme"


@pytest.mark.parametrize("char", ["\n", "\r\n", "\t", "\u2028", "\u2029", "\u0085", "\v", "\f", "\u00a0", "\u3000"])
def test_every_kind_of_blank_is_a_blank(char: str) -> None:
    assert visible(f" one{char}{char}two ") == "one two"


def test_what_people_write_stays_as_it_is() -> None:
    for text in (
        "Chat with PDF",
        "PDFファイルを処理する。",
        "Résumé, naïve: ok",
        "Привет мир",
        "한국어",
        "🎉 done",
        "a–b…",
    ):
        assert visible(text) == text


@given(st.text())
def test_nothing_that_is_shown_is_unseen_or_a_second_line(text: str) -> None:
    shown = visible(text)
    assert len(shown.splitlines()) <= 1
    assert not [char for char in shown if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}]
    assert visible(shown) == shown


@given(st.text())
def test_no_text_opens_or_closes_a_tag_or_leaves_its_quotes(text: str) -> None:
    assert not {"<", ">"} & set(escaped(text))
    assert not {"<", ">", '"', "\n"} & set(quoted(text)[1:-1])


@given(st.text(), st.integers(min_value=0, max_value=20))
def test_what_is_shortened_is_as_short_as_asked_for(text: str, length: int) -> None:
    short = shortened(text, length)
    assert len(short) <= length
    assert short == text or not short or short.endswith("…")


def test_a_name_that_cannot_all_be_seen_is_shown_as_what_else_it_is_loaded_by() -> None:
    assert shown_name("Chat with PDF") == "Chat with PDF"
    assert shown_name("pdf\u200b-reader") == "pdf-reader"
    assert shown_name("two\nlines") == "two-lines"
