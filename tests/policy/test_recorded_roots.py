"""The record of roots: kept in order, and rejected if invalid."""

from __future__ import annotations

import pytest

from skillhub_mcp._util.safe_json import BadJson
from skillhub_mcp.policy.recorded_roots import NO_RECORD, ROOTS_FORMAT, RecordedRoots


def test_roots_are_kept_once_in_order_for_each_project() -> None:
    record = NO_RECORD.with_entry("/b").with_entry("builtin").with_entry("/a").with_entry("/b")
    record = record.with_entry("/a", project="/one").with_entry("/c", project="/two")
    assert (record.everywhere, record.directories, record.places) == (
        ("/b", "builtin", "/a"),
        ("/b", "/a"),
        ("builtin",),
    )
    assert (record.of_project("/one"), record.of_project("/two"), record.of_project("/three")) == (("/a",), ("/c",), ())
    # An entry is removed from every project.
    assert record.without_entry("/a") == RecordedRoots(("/b", "builtin"), {"/two": ("/c",)})


def test_a_written_record_of_roots_is_read_back() -> None:
    record = RecordedRoots(("/a", "claude"), {"/one": ("/b",)})
    assert ROOTS_FORMAT.parse(ROOTS_FORMAT.text(record)) == record
    assert ROOTS_FORMAT.parse('{"format": 1}') == NO_RECORD


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"format": 2, "roots": []}', 'must be an object with "format": 1'),
        ('{"format": 1, "roots": ["skills"]}', r"roots\.0: 'skills' is not an absolute path"),
        ('{"format": 1, "roots": "/a"}', "roots: Input should be a valid"),
        ('{"format": 1, "roots": ["/a\\u0000"]}', "is not an absolute path"),
        ('{"format": 1, "projects": []}', "projects: Input should be a valid"),
        ('{"format": 1, "projects": {"/p": ["builtin"]}}', r"projects\./p\.0: 'builtin' is not an absolute path"),
    ],
)
def test_an_invalid_record_of_roots_is_rejected(text: str, reason: str) -> None:
    with pytest.raises(BadJson, match=reason):
        ROOTS_FORMAT.parse(text)
