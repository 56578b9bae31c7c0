"""Where skills came from by the records of other programs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from skillhub_mcp.locks.foreign import (
    GH,
    Provenance,
    global_lock_path,
    provenance_of_metadata,
    read_global_lock,
)
from skillhub_mcp.redaction import redacted


def test_the_global_lock_of_npx_skills_tells_where_a_skill_came_from(tmp_path: Path) -> None:
    entry = {
        "source": "o/r",
        "sourceType": "github",
        "sourceUrl": "https://github.com/o/r.git",
        "skillPath": "skills/pdf/SKILL.md",
        "skillFolderHash": "d" * 40,
        "installedAt": "2026-01-01T00:00:00.000Z",
    }
    path = tmp_path / "lock.json"
    path.write_text(json.dumps({"version": 3, "skills": {"pdf": entry, "odd": 1}, "dismissed": {}}))
    found = Provenance("https://github.com/o/r.git", path="skills/pdf/SKILL.md", by="npx skills")
    assert read_global_lock(str(path)) == {"pdf": found}


def test_what_gh_skill_wrote_into_a_skill_tells_where_it_came_from() -> None:
    metadata = {
        "github-repo": "https://github.com/o/r",
        "github-ref": "refs/tags/v1",
        "github-path": "skills/pdf",
        "github-tree-sha": "e" * 40,
        "github-pinned": "v1",
    }
    assert provenance_of_metadata(metadata) == Provenance(
        "https://github.com/o/r", "refs/tags/v1", "skills/pdf", by="gh skill"
    )
    assert provenance_of_metadata({"github-repo": 1}) is None


def test_the_global_lock_lies_where_npx_skills_keeps_it() -> None:
    assert global_lock_path({}) == os.path.join(os.path.expanduser("~"), ".agents", ".skill-lock.json")
    assert global_lock_path({"XDG_STATE_HOME": "/s"}) == os.path.join("/s", "skills", ".skill-lock.json")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"version": 2, "skills": {"a": {"source": "x"}}}',
        '{"version": 3, "skills": []}',
        "[" * 100_000,
        "\ufeff{}",
        '{"version": ' + "9" * 5_000 + "}",
        '{"version": 3, "skills": {"a": {"source": "' + "x" * 2_000 + '"}}}',
        '{"version": 3, "skills": {"a": {"source": ["o/r"], "sourceUrl": {"a": 1}}}}',
        '{"version": "3", "skills": {"a": {"source": "o/r"}}}',
        '{"version": 3, "skills": {"a": null, "b": "o/r", "c": [], "d": {}}}',
    ],
    ids=range(11),
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
