"""Every acceptance row has a test and every claim has a row, so that neither a promise nor a proof goes missing."""

from __future__ import annotations

import ast

import pytest
from tests.requirements import GAPS, PARTS, REQUIREMENTS, TESTS, claims

pytestmark = pytest.mark.slow


def test_every_claimed_row_exists() -> None:
    assert sorted(claims().keys() - REQUIREMENTS.keys()) == []


def test_every_row_is_proved_or_a_known_gap() -> None:
    assert sorted(REQUIREMENTS.keys() - claims().keys() - GAPS.keys()) == []


def test_a_gap_is_a_row_without_a_test_and_has_a_reason() -> None:
    assert sorted(GAPS.keys() - REQUIREMENTS.keys()) == []
    assert sorted(GAPS.keys() & claims().keys()) == []
    assert all(GAPS.values())


def test_every_marker_is_on_a_test() -> None:
    counted = sum(len(tests) for tests in claims().values())
    written = sum(
        len(node.args)
        for path in TESTS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "acceptance"
    )
    assert counted == written


def test_the_rows_are_complete_and_in_order() -> None:
    numbers = {
        "S0": range(1, 87),
        "S1": range(1, 42),
        "S2": range(1, 74),
        "S3": range(1, 39),
        "S4": range(1, 18),
    }
    assert list(REQUIREMENTS) == [f"{part}-{number}" for part, rows in numbers.items() for number in rows]
    assert list(PARTS) == list(numbers)
