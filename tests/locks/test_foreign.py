"""Where skills came from by the records of other programs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from skillhub_mcp.locks.foreign import (
    GH,
    NPX,
    Provenance,
    global_lock_path,
    parse_global_lock,
    provenance_of,
    provenance_of_metadata,
    read_global_lock,
)
from skillhub_mcp.redaction import redacted


def test_the_global_lock_of_npx_skills_tells_where_a_skill_came_from() -> None:
    entry = {
        "source": "o/r",
        "sourceType": "github",
        "sourceUrl": "https://github.com/o/r.git",
        "skillPath": "skills/pdf/SKILL.md",
        "skillFolderHash": "d" * 40,
        "installedAt": "2026-01-01T00:00:00.000Z",
    }
    text = json.dumps({"version": 3, "skills": {"pdf": entry, "odd": 1}, "dismissed": {}})
    found = Provenance("https://github.com/o/r.git", path="skills/pdf/SKILL.md", tree="d" * 40, by="npx skills")
    assert parse_global_lock(text) == {"pdf": found}


def test_what_cannot_be_read_or_is_older_tells_nothing() -> None:
    for text in ("", "[]", "{}", '{"version": 2, "skills": {"a": {"source": "x"}}}', '{"version": 3, "skills": []}'):
        assert parse_global_lock(text) == {}


def test_what_gh_skill_wrote_into_a_skill_tells_where_it_came_from() -> None:
    metadata = {
        "github-repo": "https://github.com/o/r",
        "github-ref": "refs/tags/v1",
        "github-path": "skills/pdf",
        "github-tree-sha": "e" * 40,
        "github-pinned": "v1",
    }
    assert provenance_of_metadata(metadata) == Provenance(
        "https://github.com/o/r", "refs/tags/v1", "skills/pdf", "e" * 40, by="gh skill"
    )
    assert provenance_of_metadata({"github-repo": 1}) is None


def test_the_global_lock_lies_where_npx_skills_keeps_it() -> None:
    assert global_lock_path({}) == os.path.join(os.path.expanduser("~"), ".agents", ".skill-lock.json")
    assert global_lock_path({"XDG_STATE_HOME": "/s"}) == os.path.join("/s", "skills", ".skill-lock.json")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "\ufeff{}",
        '{"version": ' + "9" * 5_000 + "}",
        '{"version": 3, "skills": {"a": {"source": "' + "x" * 2_000 + '"}}}',
        '{"version": 3, "skills": {"a": {"source": ["o/r"], "sourceUrl": {"a": 1}}}}',
        '{"version": "3", "skills": {"a": {"source": "o/r"}}}',
        '{"version": 3, "skills": {"a": null, "b": "o/r", "c": [], "d": {}}}',
    ],
    ids=range(7),
)
def test_a_hostile_lock_tells_nothing(text: str, tmp_path: Path) -> None:
    path = tmp_path / "lock.json"
    path.write_text(text, encoding="utf-8")
    assert read_global_lock(str(path)) == {}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have names on POSIX alone")
def test_a_lock_that_is_a_pipe_a_directory_or_too_large_is_not_read(tmp_path: Path) -> None:
    pipe, large = tmp_path / "pipe", tmp_path / "large"
    os.mkfifo(pipe)
    with large.open("wb") as file:
        file.truncate(20_000_000)
    (tmp_path / "link").symlink_to(pipe)
    for name in ("pipe", "link", "large", "missing", "."):
        assert read_global_lock(str(tmp_path / name)) == {}


@pytest.mark.parametrize("value", ["x" * 2_000, 1, None, ["o/r"], {"a": "o/r"}, True])
def test_hostile_metadata_tells_nothing(value: object) -> None:
    assert provenance_of_metadata({"github-repo": value}) is None
    told = provenance_of_metadata({"github-repo": "o/r", "github-ref": value, "github-path": value})
    assert told == Provenance("o/r", by=GH)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("https://ada:secret@host/o/r.git", "https://host/o/r.git"),
        ("https://secret@host/o/r.git", "https://host/o/r.git"),
        ("ssh://git:secret@host/o/r", "ssh://git@host/o/r"),
        ("ssh://git@host/o/r", "ssh://git@host/o/r"),
        ("https://host/a@b", "https://host/a@b"),
        ("https://host/x.zip?token=secret", "https://host/x.zip?***"),
        ("git@host:o/r", "git@host:o/r"),
    ],
)
def test_the_source_of_a_record_has_no_secret(source: str, told: str) -> None:
    assert redacted(source) == told
    assert provenance_of_metadata({"github-repo": source}) == Provenance(told, by=GH)


def test_a_record_of_this_machine_comes_before_what_a_skill_says_of_itself() -> None:
    locked = Provenance("https://github.com/o/r.git", tree="e" * 40, by=NPX)
    metadata = {"github-repo": "https://github.com/other/r", "github-ref": "f" * 40, "github-tree-sha": "d" * 40}
    assert provenance_of(locked, metadata) == locked
    assert provenance_of(locked, {}) == locked
    assert provenance_of(None, {}) is None
    alone = provenance_of(None, metadata)
    assert alone is not None
    assert (alone.source, alone.commit, alone.by) == ("https://github.com/other/r", "f" * 40, GH)
    # Both are about one tree: `gh skill` wrote them, and the skill has the ref.
    same = provenance_of(locked, metadata | {"github-tree-sha": "e" * 40})
    assert same is not None
    assert (same.source, same.ref, same.by) == ("https://github.com/o/r.git", "f" * 40, GH)
