from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.library.roots import install, left_behind, prepared, write_skill

from skillhub_mcp.execution.removal import remove_directory
from skillhub_mcp.library import trash
from skillhub_mcp.library.change import changing
from skillhub_mcp.library.places import places_of
from skillhub_mcp.library.trash import entries, prune


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return prepared(tmp_path)


def replaced(root: Path, *texts: str) -> None:
    for text in texts:
        with changing(os.fspath(root)) as one:
            install(one, {"replaced": text})


def test_what_is_removed_and_replaced_lies_there_the_newest_first(root: Path) -> None:
    replaced(root, "two")
    with changing(os.fspath(root)) as one:
        install(one, {}, removals=["gone", "kept"])
    found = entries(places_of(os.fspath(root)))
    assert [(one.skills, one.removed) for one in found] == [(("gone", "kept"), True), (("replaced",), False)]


def test_a_skill_that_came_where_none_was_leaves_nothing_there(root: Path) -> None:
    with changing(os.fspath(root)) as one:
        install(one, {"new": "two"})
    assert entries(places_of(os.fspath(root))) == ()


def test_the_oldest_go_and_the_last_removal_stays(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with changing(os.fspath(root)) as one:
        install(one, {}, removals=["gone"])
    replaced(root, *map(str, range(trash.MAX_ENTRIES + 4)))
    found = entries(places_of(os.fspath(root)))
    assert len(found) == trash.MAX_ENTRIES + 1
    assert found[-1].skills == ("gone",)
    assert left_behind(root) == []


def test_what_is_no_entry_of_ours_is_left_alone(root: Path) -> None:
    places = places_of(os.fspath(root))
    (root / ".skillhub" / "trash" / "mine").mkdir()
    (root / ".skillhub" / "trash" / "20260101T000000000000Z-00000000-removed").write_text("mine")
    assert entries(places) == ()
    prune(places)
    assert (root / ".skillhub" / "trash" / "mine").is_dir()


def test_directories_in_each_other_without_a_bound_are_deleted_and_no_link_is_followed(
    tmp_path: Path, make_deep: Callable[[Path], None]
) -> None:
    """Python's own way of removing them ends at a thousand, and then no command could change the root any more."""
    write_skill(tmp_path / "kept", "one")
    top = tmp_path / "old"
    write_skill(top / "skills" / "old", "one")
    (top / "skills" / "link").symlink_to(tmp_path / "kept")
    make_deep(top / "skills" / "old")
    remove_directory(os.fspath(top))
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept" / "SKILL.md").is_file()


def test_a_directory_that_its_owner_made_read_only_is_deleted_too(tmp_path: Path) -> None:
    write_skill(tmp_path / "old", "one")
    (tmp_path / "old" / "scripts").chmod(0o500)
    (tmp_path / "old").chmod(0o500)
    remove_directory(os.fspath(tmp_path / "old"))
    assert not (tmp_path / "old").exists()
