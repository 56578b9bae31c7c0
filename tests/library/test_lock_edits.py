from __future__ import annotations

import json

import pytest

from skillhub_mcp.errors import LockUnreadable
from skillhub_mcp.library.lock_edits import locked_names, with_entries_of, without_entries

LOCK = (
    json.dumps(
        {"version": 1, "skills": {"a-ü": {"source": "o/r", "later": [1]}, "b": {"source": "x"}}, "later": {"k": 1}},
        indent=2,
        ensure_ascii=False,
    )
    + "\n"
)


def test_an_entry_goes_and_comes_back_and_all_else_stays() -> None:
    without = without_entries(LOCK, ["b", "none"], "lock")
    assert without is not None
    assert json.loads(without) == {
        "version": 1,
        "skills": {"a-ü": json.loads(LOCK)["skills"]["a-ü"]},
        "later": {"k": 1},
    }
    assert with_entries_of(LOCK, ["b"], without, "lock") == LOCK
    assert "a-ü" in without


def test_a_lock_without_the_entry_is_the_same_text() -> None:
    odd = '{"skills":{},\n"version":1}'
    assert without_entries(odd, ["b"], "lock") == odd
    assert with_entries_of(odd, ["b"], LOCK, "lock") == LOCK
    assert with_entries_of(None, ["b"], LOCK, "lock") == LOCK
    assert without_entries(None, ["b"], "lock") is None
    assert locked_names(None, "lock") == frozenset()


def test_entries_come_back_where_there_is_no_lock_any_more() -> None:
    text = with_entries_of(LOCK, ["b"], None, "lock")
    assert text is not None
    assert locked_names(text, "lock") == {"b"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 1 is not JSON"),
        (LOCK[:-4], "is not JSON"),
        ("[]", "no object of skills"),
        ('{"version": 1, "skills": []}', "no object of skills"),
        ('{"version": 2, "skills": {}}', "has the version 2"),
        ('{"skills": {}}', "has the version None"),
        (LOCK.replace('  "later"', '<<<<<<< ours\n  "later"'), "markers of a merge"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_lock_of_ours_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(LockUnreadable, match=reason):
        without_entries(text, ["b"], "lock")
    with pytest.raises(LockUnreadable, match=reason):
        with_entries_of(LOCK, ["b"], text, "lock")


def test_the_line_of_a_merge_marker_is_told() -> None:
    with pytest.raises(LockUnreadable, match="lock:3 "):
        locked_names('{\n"version": 1,\n<<<<<<< HEAD\n', "lock")
