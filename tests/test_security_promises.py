"""Every line of SECURITY.md that promises something has tests that hold it, and each of them exists."""

from __future__ import annotations

import re

import pytest
from tests.named_tests import TESTS, missing

from skillhub_mcp._util.safe_toml import read_toml

PROMISED, _, _ = (TESTS.parent / "SECURITY.md").read_text(encoding="utf-8").partition("\n## What is not defended")
PROMISES = re.findall(r"^- \*\*(.+?)\*\*", PROMISED, re.MULTILINE)
HELD_BY = read_toml((TESTS / "security_promises.toml").read_text(encoding="utf-8"), most_characters=200_000)


def test_every_promise_has_tests_and_no_tests_are_left_without_one() -> None:
    assert len(PROMISES) > 40
    assert sorted(HELD_BY) == sorted(PROMISES)


@pytest.mark.parametrize("promise", sorted(HELD_BY))
def test_the_tests_behind_a_promise_exist(promise: str) -> None:
    named = HELD_BY[promise]
    assert named
    assert missing(named) == []
