"""Queries, written the one way that the index understands."""

from __future__ import annotations

import pytest

from skillhub_mcp.search.analysis import MAX_QUERY_CHARACTERS, normalise_query


@pytest.mark.acceptance("S2-9")
@pytest.mark.parametrize(
    "written", ["pdf invoice", "  pdf invoice ", "pdf \t\n  invoice", "\u3000pdf\u3000invoice\u00a0"]
)
def test_blanks_around_and_between_words_make_no_difference(written: str) -> None:
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
def test_other_ways_of_writing_the_same_become_one(written: str, meant: str) -> None:
    assert normalise_query(written) == meant


def test_a_word_said_often_is_said_once() -> None:
    assert normalise_query("pdf " * 400 + "table PDF Pdf") == "pdf table"


def test_a_query_is_read_up_to_its_bound() -> None:
    assert normalise_query("a" * 50 + " " + "b" * 10_000) == "a" * 50 + " " + "b" * (MAX_QUERY_CHARACTERS - 51)


def test_a_character_that_becomes_many_does_not_pass_the_bound() -> None:
    assert len(normalise_query("\ufdfa" * MAX_QUERY_CHARACTERS)) <= MAX_QUERY_CHARACTERS
