"""Every acceptance row has a test and every claim has a row, so that neither a promise nor a proof goes missing."""

from __future__ import annotations

import ast

import pytest
from tests.requirements import PARTS, REQUIREMENTS, TESTS, claims

pytestmark = pytest.mark.slow


def test_every_row_is_proved_and_every_claimed_row_exists() -> None:
    assert sorted(claims().keys() ^ REQUIREMENTS.keys()) == []


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
    counts = {"S0": 86, "S1": 41, "S2": 73, "S3": 38, "S4": 17}
    assert list(REQUIREMENTS) == [f"{part}-{number}" for part in counts for number in range(1, counts[part] + 1)]
    assert list(PARTS) == list(counts)
