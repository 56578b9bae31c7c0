"""Every row of the table of faults says what is seen, lost and to be done, and names tests that hold it."""

from __future__ import annotations

import re

import pytest
from tests.named_tests import TESTS, missing, named_in

FAULTS = (TESTS.parent / "docs" / "faults.md").read_text(encoding="utf-8")
ROWS = [row for row in re.findall(r"^\| .*$", FAULTS, re.MULTILINE) if not re.match(r"\| (part|fault) \|", row)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[:40])
def test_a_fault_names_the_tests_that_hold_its_row(row: str) -> None:
    named = named_in(row)
    assert named
    assert missing(named) == []
    assert all(cell.strip() for cell in row.strip("|").split("|"))


def test_the_faults_are_found() -> None:
    assert any("full" in row for row in ROWS)
    assert any("503" in row for row in ROWS)
    assert missing(["index/test_damage.py::test_that_nobody_wrote", "nowhere.py::test_it"]) != []
