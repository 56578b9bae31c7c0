"""What a command saw of the sources of installed skills."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from skillhub_mcp.locks.lock_file import LockedByHub
from skillhub_mcp.locks.seen_sources import SeenNewer, parse_seen, read_seen, seen_path, seen_text

DIGEST = "sha256:" + "a" * 64
NEWER = SeenNewer(DIGEST, "b" * 40, "c" * 40, "2026-11-22T22:40:00Z")


def test_what_was_seen_is_read_as_it_was_written() -> None:
    seen = {"pdf": NEWER, "site": SeenNewer(DIGEST, "", "", "2026-11-22T22:40:00Z")}
    assert parse_seen(seen_text(seen)) == seen


def test_it_is_about_the_very_version_with_which_the_source_was_compared() -> None:
    assert NEWER.is_about(LockedByHub(DIGEST, commit="b" * 40))
    assert not NEWER.is_about(LockedByHub(DIGEST, commit="c" * 40))
    assert not NEWER.is_about(LockedByHub("sha256:" + "d" * 64, commit="b" * 40))


@pytest.mark.parametrize(
    "change",
    [
        {"digest": "a"},
        {"digest": None},
        {"commit": "\x1b[2J"},
        {"newer": "c" * 1_000_000},
        {"newer": ["c" * 40]},
        {"seen": "yesterday"},
        {"seen": 1},
    ],
    ids=range(7),
)
def test_a_damaged_entry_is_none_and_the_others_count(change: dict[str, object]) -> None:
    whole = json.loads(seen_text({"pdf": NEWER, "other": NEWER}))
    whole["skills"]["pdf"] |= change
    assert parse_seen(json.dumps(whole)) == {"other": NEWER}


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"version": 2, "skills": {}}', '{"version": 1}'])
def test_a_damaged_or_newer_file_says_nothing(text: str, tmp_path: Path) -> None:
    path = Path(seen_path(str(tmp_path)))
    path.parent.mkdir()
    path.write_text(text)
    assert read_seen(str(tmp_path)) == {}


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_is_not_followed(tmp_path: Path) -> None:
    path = Path(seen_path(str(tmp_path)))
    path.parent.mkdir()
    (tmp_path / "other.json").write_text(seen_text({"pdf": NEWER}))
    path.symlink_to(tmp_path / "other.json")
    assert read_seen(str(tmp_path)) == {}
