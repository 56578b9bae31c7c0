"""Splitting a long body into parts."""

from __future__ import annotations

import pytest

from skillhub_mcp.disclosure.reader import split_body


def test_a_short_body_is_one_part() -> None:
    assert split_body("12345678", max_bytes=8) == ["12345678"]


def test_an_empty_body_is_one_empty_part() -> None:
    assert split_body("", max_bytes=8) == [""]


def test_parts_end_at_line_ends() -> None:
    assert split_body("one\ntwo\nthree\n", max_bytes=9) == ["one\ntwo\n", "three\n"]


def test_a_line_end_at_the_limit_ends_the_part() -> None:
    assert split_body("1234567\n9", max_bytes=8) == ["1234567\n", "9"]


def test_a_long_line_is_split_between_characters() -> None:
    assert split_body("äöü", max_bytes=3) == ["ä", "ö", "ü"]
    assert split_body("🦀🦀", max_bytes=7) == ["🦀", "🦀"]


def test_a_body_of_line_ends_is_split() -> None:
    assert split_body("\n" * 5, max_bytes=2) == ["\n\n", "\n\n", "\n"]


def test_line_ends_are_kept() -> None:
    assert "".join(split_body("a\r\nb\r\n" * 50, max_bytes=16)) == "a\r\nb\r\n" * 50


@pytest.mark.parametrize("max_bytes", [4, 5, 7, 64, 1024])
def test_lone_surrogates_are_kept(max_bytes: int) -> None:
    body = "x\udc80y\ud800z\n" * 9
    assert "".join(split_body(body, max_bytes=max_bytes)) == body
