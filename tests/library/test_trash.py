from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.library.roots import install, left_behind, prepared

from skillhub_mcp.library.change import changing
from skillhub_mcp.library.places import MAX_ENTRIES, entries, places_of, prune


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return prepared(tmp_path)


def replaced(root: Path, *texts: str) -> None:
    for text in texts:
        with changing(os.fspath(root)) as one:
            install(one, {"replaced": text})


def test_removed_and_replaced_skills_are_listed_newest_first(root: Path) -> None:
    replaced(root, "two")
    with changing(os.fspath(root)) as one:
        install(one, {}, removals=["gone", "kept"])
    found = entries(places_of(os.fspath(root)))
    assert [(one.skills, one.removed) for one in found] == [(("gone", "kept"), True), (("replaced",), False)]


def test_a_new_skill_leaves_nothing_in_the_trash(root: Path) -> None:
    with changing(os.fspath(root)) as one:
        install(one, {"new": "two"})
    assert entries(places_of(os.fspath(root))) == ()


def test_the_oldest_entries_go_and_the_last_removal_stays(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with changing(os.fspath(root)) as one:
        install(one, {}, removals=["gone"])
    replaced(root, *map(str, range(MAX_ENTRIES + 4)))
    found = entries(places_of(os.fspath(root)))
    assert len(found) == MAX_ENTRIES + 1
    assert found[-1].skills == ("gone",)
    assert left_behind(root) == []


def test_foreign_entries_are_left_alone(root: Path) -> None:
    places = places_of(os.fspath(root))
    (root / ".skillhub" / "trash" / "mine").mkdir()
    (root / ".skillhub" / "trash" / "20260101T000000000000Z-00000000-removed").write_text("mine")
    assert entries(places) == ()
    prune(places)
    assert (root / ".skillhub" / "trash" / "mine").is_dir()
