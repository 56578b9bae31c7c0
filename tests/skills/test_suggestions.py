"""Suggestions for unknown names."""

from __future__ import annotations

import pytest

from skillhub_mcp.skills.suggestions import near_names

NAMES = ["pdf", "pdf-forms", "chat-with-pdf", "code-review", "code-reviewer", "データ分析", "docx"]


@pytest.mark.parametrize(
    ("wanted", "first"),
    [
        ("pdff", "pdf"),
        ("PDF", "pdf"),
        ("pdf_forms", "pdf-forms"),
        ("code-reveiw", "code-review"),
        ("chat with pdf", "chat-with-pdf"),
        ("データ解析", "データ分析"),
    ],
)
def test_the_nearest_name_comes_first(wanted: str, first: str) -> None:
    assert near_names(wanted, NAMES)[0] == first


def test_what_is_near_nothing_gives_nothing() -> None:
    assert near_names("zzzz", NAMES) == []
    assert near_names("", NAMES) == []
    assert near_names("pdf", []) == []


def test_no_more_names_come_than_were_asked_for() -> None:
    assert len(near_names("code", [f"code-{n}" for n in range(50)])) == 3
    assert len(near_names("code", [f"code-{n}" for n in range(50)], limit=1)) == 1


def test_names_that_differ_only_in_case_are_one_suggestion() -> None:
    assert len(near_names("pdf", ["PDF", "pdf", "Pdf"])) == 1


def test_names_are_compared_in_their_folded_form() -> None:
    assert near_names("ｐｄｆ", ["pdf", "docx"]) == ["pdf"]
    assert near_names("STRASSE-MAP", ["straße-map"]) == ["straße-map"]
