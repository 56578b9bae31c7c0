"""The record of roots: what a person added stays in order, and what is not understood is refused."""

from __future__ import annotations

import json

import pytest

from skillhub_mcp._util.safe_json import BadJson
from skillhub_mcp.policy.recorded_roots import NO_RECORD, RecordedRoots, parse_record, record_text


def test_what_is_added_comes_last_once_and_for_its_project_alone() -> None:
    record = NO_RECORD.with_entry("/b").with_entry("builtin").with_entry("/a").with_entry("/b")
    record = record.with_entry("/a", project="/one").with_entry("/c", project="/two")
    assert (record.everywhere, record.directories, record.places) == (
        ("/b", "builtin", "/a"),
        ("/b", "/a"),
        ("builtin",),
    )
    assert (record.of_project("/one"), record.of_project("/two"), record.of_project("/three")) == (("/a",), ("/c",), ())
    # What is removed is gone everywhere, so that nobody has to find the project that it was added in.
    assert record.without_entry("/a") == RecordedRoots(("/b", "builtin"), {"/one": (), "/two": ("/c",)})


def test_a_record_is_written_as_it_is_read_and_what_others_put_there_stays() -> None:
    record = RecordedRoots(("/a", "claude"), {"/one": ("/b",), "/empty": ()})
    before = '{"format": 1, "of a later version": {"x": [1]}, "roots": ["/old"]}'
    text = record_text(record, before)
    assert parse_record(text) == RecordedRoots(("/a", "claude"), {"/one": ("/b",)})
    assert json.loads(text)["of a later version"] == {"x": [1]}
    assert parse_record('{"format": 1}') == NO_RECORD


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "line 1 is not JSON"),
        ("[]", 'must be an object with "format": 1'),
        ('{"format": 2, "roots": []}', 'must be an object with "format": 1'),
        ('{"format": 1, "roots": ["skills"]}', "must be a list of absolute paths, or builtin or claude"),
        ('{"format": 1, "roots": "/a"}', "must be a list"),
        ('{"format": 1, "roots": ["/a\\u0000"]}', "must be a list"),
        ('{"format": 1, "projects": []}', '"projects" must be an object'),
        ('{"format": 1, "projects": {"/p": ["builtin"]}}', r"projects\['/p'\] must be a list of absolute paths$"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_record_that_is_not_understood_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(BadJson, match=reason):
        parse_record(text)
