"""Queries, written the one way that the index understands."""

from __future__ import annotations

from collections import Counter

import pytest

from skillhub_mcp.analysis.analyzer import (
    MAX_QUERY_CHARACTERS,
    MAX_TERM_CHARACTERS,
    normalise_query,
    term_counts,
    terms,
    tokens,
)


@pytest.mark.acceptance("S2-9")
@pytest.mark.parametrize(
    "written", ["pdf invoice", "  pdf invoice ", "pdf \t\n  invoice", "\u3000pdf\u3000invoice\u00a0"]
)
def test_whitespace_is_normalised(written: str) -> None:
    assert normalise_query(written) == "pdf invoice"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("ＰＤＦ　抽出", "PDF 抽出"),
        ("ﾊﾟｽﾜｰﾄﾞ", "パスワード"),
        ("e\u0301te\u0301", "été"),
        ("ﬁle", "file"),
        ("null\0byte", "null byte"),
        ("", ""),
        (" \n\t ", ""),
        ("\0\0", ""),
    ],
)
def test_unicode_forms_are_normalised(written: str, meant: str) -> None:
    assert normalise_query(written) == meant


def test_a_query_is_cut_at_its_limit() -> None:
    assert normalise_query("a" * 50 + " " + "b" * 100_000) == "a" * 50 + " " + "b" * (MAX_QUERY_CHARACTERS - 51)


def test_an_expanding_character_stays_within_the_limit() -> None:
    assert len(normalise_query("\ufdfa" * MAX_QUERY_CHARACTERS)) <= MAX_QUERY_CHARACTERS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Extract the invoices from our PDFs", ["extract", "invoic", "pdf"]),
        ("C# and C++ and F#, not C", ["c#", "c++", "f#", "c"]),
        ("node.js foo_bar git-commit", ["node", "js", "foo", "bar", "git", "commit"]),
        ("getUserName HTTPServer kubectl", ["getusernam", "user", "name", "httpserver", "http", "server", "kubectl"]),
        ("Übergröße façade", ["ubergross", "facad"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("PDFを翻訳", ["pdf", "を翻", "翻訳"]),
        ("문서를 번역", ["문서", "서를", "번역"]),
        ("ภาษาไทย", ["ภาษ", "าษา", "ษาไ", "าไท", "ไทย"]),
        ("猫", ["猫"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("مُسْتَنَد", ["مستند"]),
        ("номера счетов", ["номера", "счетов"]),
        ("🦀 … --- \0", []),
        ("the of and", []),
    ],
)
def test_text_becomes_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_spellings_of_one_word_give_one_term() -> None:
    assert terms("Invoices") == terms("ＩＮＶＯＩＣＥ") == terms("invoicing") == ["invoic"]


def test_term_counts_equal_counted_terms() -> None:
    text = "Extract invoices, then getUserName of 東京タワー and invoices again"
    assert term_counts(text, {}) == Counter(terms(text))


def test_a_very_long_word_is_a_bounded_term() -> None:
    assert [len(term) for term in terms("x" * 100_000)] == [MAX_TERM_CHARACTERS]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("in\u200bvo\u00adices", ["invoices"]),
        ("pass\U000e0041port\u202es", ["passports"]),
        ("one\u2028two", ["one", "two"]),
        # In Persian a joiner stands between parts of a word, and divides them as before.
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", ["\u0645\u06cc", "\u062e\u0648\u0627\u0647\u0645"]),
    ],
)
def test_invisible_characters_do_not_split_a_word(text: str, words: list[str]) -> None:
    assert tokens(text) == words
