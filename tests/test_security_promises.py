"""Every promise of SECURITY.md names the tests that hold it, and each of them exists."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from tests.named_tests import TESTS, missing, named_in

SECURITY = (TESTS.parent / "SECURITY.md").read_text(encoding="utf-8")


def promises() -> Iterator[str]:
    """Yield every row and every bullet of the sections before the one that says what is not defended."""
    promised, _, _ = SECURITY.partition("\n## What is not defended")
    for paragraph in re.split(r"\n\n|\n(?=[|-])", promised):
        if paragraph.startswith("- ") or re.match(r"\| (?!threat \|)", paragraph):
            yield paragraph


@pytest.mark.parametrize("promise", list(promises()), ids=lambda promise: promise[:40])
def test_a_promise_names_the_tests_that_hold_it(promise: str) -> None:
    named = named_in(promise)
    assert named
    assert missing(named) == []


def test_the_promises_are_found() -> None:
    found = list(promises())
    assert any("YAML bombs" in promise for promise in found)
    assert any("**A revoked token**" in promise for promise in found)
