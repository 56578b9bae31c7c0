"""`skillhub snapshots`: what is kept, what is served, and going back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter
from tests.replicas.publications import Publishing

from skillhub_mcp.storage.directory_store import DirectoryStore


@pytest.fixture
def publication(tmp_path: Path) -> Path:
    return tmp_path / "publication"


@pytest.fixture
def ids(publication: Path, skills_dir: Path, write_skill: SkillWriter) -> list[str]:
    """Three snapshots, the oldest first; the last is the current one."""
    publishing = Publishing(DirectoryStore(str(publication)), [skills_dir])
    found = []
    for number in range(3):
        write_skill("walrus", f"Feeds walrus {number}.")
        found.append(publishing.publish().id)
    return found


def current(skillhub: Skillhub, publication: Path) -> str:
    return str(json.loads(skillhub("snapshots", "list", publication, "--json").out)["current"])


def test_the_snapshots_are_listed_newest_first_with_the_one_that_is_served(
    skillhub: Skillhub, publication: Path, ids: list[str]
) -> None:
    done = skillhub("snapshots", "list", publication)
    assert done.code == 0
    head, *lines = done.out.splitlines()
    assert head == f"3 snapshots at {publication}, newest first; * is served:"
    assert [line.split()[:2] for line in lines] == [
        ["*", ids[2]],
        [ids[1], "2026-11-22T18:01:00Z"],
        [ids[0], "2026-11-22T18:00:00Z"],
    ]
    told = json.loads(skillhub("snapshots", "list", publication, "--json").out)
    # As `publish` tells a size.
    assert all(
        f"  1 skill  {one['bytes']} bytes  by " in line for one, line in zip(told["snapshots"], lines, strict=True)
    )
    assert [(one["id"], one["current"], one["pinned"], one["skills"]) for one in told["snapshots"]] == [
        (ids[2], True, False, 1),
        (ids[1], False, False, 1),
        (ids[0], False, False, 1),
    ]


def test_a_snapshot_is_pinned_and_unpinned_by_id_or_number(
    skillhub: Skillhub, publication: Path, ids: list[str]
) -> None:
    assert json.loads(skillhub("snapshots", "pin", publication, "1", "--json").out) == {
        "target": str(publication),
        "snapshot": ids[0],
        "pinned": True,
    }
    assert skillhub("snapshots", "list", publication).out.splitlines()[3].endswith("pinned")
    assert skillhub("snapshots", "unpin", publication, ids[0]).out == f"{ids[0]} goes when enough have followed.\n"
    assert not skillhub("snapshots", "list", publication).out.splitlines()[3].endswith("pinned")


def test_a_rollback_goes_to_the_one_before_or_to_the_one_that_is_named(
    skillhub: Skillhub, publication: Path, ids: list[str]
) -> None:
    done = skillhub("snapshots", "rollback", publication)
    assert done.out.startswith(f"{ids[1]} is the current snapshot again; it was {ids[2]}.\n")
    assert current(skillhub, publication) == ids[1]
    told = json.loads(skillhub("snapshots", "rollback", publication, "--json").out)
    assert (told["current"], told["before"]) == (ids[0], ids[1])
    none = skillhub("snapshots", "rollback", publication)
    assert (none.code, "no snapshot before the current one is kept" in none.err) == (2, True)
    # Forward again, by its number.
    assert skillhub("snapshots", "rollback", publication, "3").code == 0
    assert current(skillhub, publication) == ids[2]
    assert skillhub("snapshots", "rollback", publication, ids[2]).out == f"{ids[2]} is the current snapshot already.\n"


@pytest.mark.parametrize("action", ["pin", "unpin", "rollback"])
def test_a_snapshot_that_is_not_kept_is_told_as_such_and_nothing_changes(
    skillhub: Skillhub, publication: Path, ids: list[str], action: str
) -> None:
    before = (publication / "publication.json").read_bytes()
    done = skillhub("snapshots", action, publication, "9", "--json")
    assert done.code == 1
    assert json.loads(done.err)["error"]["code"] == "PUBLICATION_MISSING"
    assert (publication / "publication.json").read_bytes() == before


def test_where_nothing_was_published_the_command_that_does_is_named(skillhub: Skillhub, tmp_path: Path) -> None:
    for action in (["list"], ["pin", "1"], ["rollback"]):
        done = skillhub("snapshots", action[0], tmp_path / "nothing", *action[1:])
        assert done.code == 1
        assert "skillhub publish writes there" in done.err
    assert not (tmp_path / "nothing").exists()


def test_of_a_first_publisher_that_was_killed_nothing_was_published(
    skillhub: Skillhub, publication: Path, ids: list[str]
) -> None:
    pointer = publication / "publication.json"
    pointer.write_text(json.dumps({**json.loads(pointer.read_bytes()), "current": "", "snapshots": []}))
    for action in ("list", "rollback"):
        done = skillhub("snapshots", action, publication)
        assert (done.code, done.out) == (1, "")
        assert f"Nothing was published to {publication} yet" in done.err


def test_a_number_longer_than_any_is_no_snapshot(skillhub: Skillhub, publication: Path, ids: list[str]) -> None:
    done = skillhub("snapshots", "pin", publication, "9" * 5_000)
    assert done.code == 1
    assert f"skillhub snapshots list {publication} shows" in done.err
