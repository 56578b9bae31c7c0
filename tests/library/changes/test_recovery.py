"""What is mended at the start, what a hostile journal may not do, and that `.skillhub` is of no skill."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.hubs import hub_of
from tests.library.changes.kills import prepared
from tests.library.changes.roots import LOCK, install, left_behind, lock_text, locked, skills_in, state_of, write_skill
from tests.publishing.publishers import publishing

from skillhub_mcp.bootstrap.publication import library_to_publish
from skillhub_mcp.errors import InvalidArgument, LibraryUnwritable
from skillhub_mcp.library.changes import recovery
from skillhub_mcp.library.changes.disk import Disk
from skillhub_mcp.library.changes.journal import BadJournal, parse_journal
from skillhub_mcp.library.changes.own_places import OwnPlaces
from skillhub_mcp.library.changes.recovery import Recovery, recover
from skillhub_mcp.library.changes.transaction import changing
from skillhub_mcp.library.removal import bring_back
from skillhub_mcp.policy.project_trust import brought_digest
from skillhub_mcp.settings import read_settings
from skillhub_mcp.skills.roots import make_roots
from skillhub_mcp.validation.checker import targets, targets_below


class Killed(BaseException):
    """The process is gone: nothing of it is done from here on."""


class DyingDisk(Disk):
    """A disk of a process that dies where it would replace the lock, or, `late`, right after."""

    def __init__(self, *, late: bool = False) -> None:
        self._late = late
        self._dead = False

    def replace(self, source: str, target: str) -> None:
        if self._late:
            super().replace(source, target)
        self._dead = True
        raise Killed

    def exchange(self, first: str, second: str) -> bool:
        self._alive()
        return super().exchange(first, second)

    def move(self, source: str, target: str) -> None:
        self._alive()
        super().move(source, target)

    def remove_file(self, path: str) -> None:
        self._alive()
        super().remove_file(path)

    def remove_tree(self, path: str) -> None:
        self._alive()
        super().remove_tree(path)

    def _alive(self) -> None:
        if self._dead:
            raise Killed


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return prepared(tmp_path)


def killed(root: Path, *, late: bool = False) -> None:
    def change() -> None:
        with changing(os.fspath(root), disk=DyingDisk(late=late)) as one:
            install(one, {"new": "two", "replaced": "two"}, removals=["gone"])

    with pytest.raises(Killed):
        change()
    assert left_behind(root) != []


@pytest.mark.parametrize("late", [False, True])
def test_a_hub_that_starts_completes_what_was_committed_and_takes_back_what_was_not(root: Path, *, late: bool) -> None:
    before = state_of(root)
    killed(root, late=late)
    environment = {"SKILLS_DIR": str(root), "EMBEDDING_PROVIDER": "none", "DB_PATH": str(root.parent / "db")}
    with hub_of(environment) as hub:
        served = sorted(skill.name for skill in hub.skills())
    assert served == (["kept", "new", "replaced"] if late else ["gone", "kept", "replaced"])
    assert left_behind(root) == []
    skills, lock, receipts = state_of(root)
    assert skills == lock == receipts
    assert late or (skills, lock, receipts) == before


def test_what_was_committed_is_completed_though_another_program_has_written_the_lock_since(root: Path) -> None:
    killed(root, late=True)
    with (root / LOCK).open("a") as lock:
        lock.write("\n")
    assert recover(os.fspath(root)) == Recovery(completed=True, skills=("new", "replaced", "gone"))
    skills, lock_says, receipts = state_of(root)
    assert skills == lock_says == receipts
    assert left_behind(root) == []


def test_a_root_without_a_journal_costs_one_look(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []
    lstat = os.lstat

    def counted(path: Any, **more: Any) -> os.stat_result:
        looked.append(path)
        return lstat(path, **more)

    monkeypatch.setattr(os, "lstat", counted)
    monkeypatch.setattr(recovery, "places_of", OwnPlaces)
    assert recover(os.fspath(root)) is None
    assert looked == [os.fspath(root / ".skillhub" / "journal.json")]


def test_a_change_that_is_still_going_on_is_left_alone(root: Path) -> None:
    killed(root)
    now = left_behind(root)
    journal = (root / ".skillhub" / "journal.json").read_text()
    (root / ".skillhub" / "journal.json").unlink()
    with changing(os.fspath(root)):
        (root / ".skillhub" / "journal.json").write_text(journal)
        assert recover(os.fspath(root)) is None
        assert (root / ".skillhub" / "journal.json").exists()
        (root / ".skillhub" / "journal.json").unlink()
    assert now


def test_what_was_done_is_told(root: Path) -> None:
    killed(root)
    assert recover(os.fspath(root)) == Recovery(completed=False, skills=("new", "replaced", "gone"))
    killed(root, late=True)
    assert recover(os.fspath(root)) == Recovery(completed=True, skills=("new", "replaced", "gone"))


def test_what_somebody_wrote_into_a_skill_that_is_taken_back_lies_in_the_trash(root: Path) -> None:
    before = state_of(root)
    killed(root)
    (root / "new" / "mine.txt").write_text("mine")
    (root / "gone").mkdir()
    (root / "gone" / "mine.txt").write_text("made anew")
    recover(os.fspath(root))
    assert (root / "gone" / "mine.txt").read_text() == "made anew"
    trash = root / ".skillhub" / "trash"
    assert [one.read_text() for one in trash.glob("*/skills/new/mine.txt")] == ["mine"]
    assert [one.exists() for one in trash.glob("*/skills/gone/SKILL.md")] == [True]
    assert locked(root) == before[1]
    assert left_behind(root) == []


class TestAJournalThatSomebodyElseWrote:
    CHANGE = "20260101T000000000000Z-00000000"

    def hostile(self, **values: object) -> str:
        step = {"move": "remove", "name": "kept", "fingerprint": "", "source": ""}
        written = {
            "version": 1,
            "change": self.CHANGE,
            "steps": [step],
            "lock_path": "",
            "lock_digest": "",
            "receipts": [],
            "committed": False,
            **values,
        }
        return json.dumps(written)

    @pytest.mark.parametrize(
        "values",
        [
            {"change": "../../.."},
            {"steps": [{"move": "put", "name": "../mine", "fingerprint": "", "source": ""}]},
            {"steps": [{"move": "restore", "name": "kept", "fingerprint": "", "source": "../.."}]},
            {"steps": [{"move": "delete", "name": "kept", "fingerprint": "", "source": ""}]},
            {"steps": ["kept"]},
            {"steps": {}},
            {"receipts": ["../../mine"]},
            {"lock_path": 1},
            {"version": 2},
        ],
        ids=str,
    )
    def test_names_no_path_out_of_the_root_and_is_refused_and_left(self, root: Path, values: dict[str, object]) -> None:
        text = self.hostile(**values)
        with pytest.raises(BadJournal):
            parse_journal(text)
        (root / ".skillhub" / "journal.json").write_text(text)
        before = state_of(root)
        for _ in range(2):
            with pytest.raises(LibraryUnwritable, match="no journal that this version reads"):
                recover(os.fspath(root))
        assert state_of(root) == before

    @pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, "\xff"], ids=range(5))
    def test_that_is_no_journal_is_named(self, root: Path, text: str) -> None:
        (root / ".skillhub" / "journal.json").write_bytes(text.encode("latin-1"))
        with pytest.raises(LibraryUnwritable, match=r"journal\.json"):
            recover(os.fspath(root))

    def test_writes_no_lock_wherever_it_leads(self, root: Path, tmp_path: Path) -> None:
        mine = tmp_path / "mine.json"
        mine.write_text("mine")
        (root / ".skillhub" / "journal.json").write_text(self.hostile(lock_path=str(mine), lock_digest="0"))
        staged = root / ".skillhub" / "staging" / self.CHANGE
        staged.mkdir()
        (staged / "lock.json").write_text("yours")
        recover(os.fspath(root))
        assert mine.read_text() == "mine"
        assert left_behind(root) == []

    @pytest.mark.parametrize("link", [".", "skills", "aside"])
    def test_moves_nothing_out_of_a_directory_that_is_a_link(self, root: Path, tmp_path: Path, link: str) -> None:
        mine = tmp_path / "mine"
        write_skill(mine / "skills" / "precious", "mine")
        write_skill(mine / "precious", "mine")
        staged = root / ".skillhub" / "staging" / self.CHANGE
        if link != ".":
            staged.mkdir()
        Path(staged, link).symlink_to(mine) if link != "." else staged.symlink_to(mine)
        for move in ("remove", "swap", "put"):
            steps = [{"move": move, "name": "precious", "fingerprint": "", "source": ""}]
            (root / ".skillhub" / "journal.json").write_text(self.hostile(steps=steps))
            with pytest.raises(LibraryUnwritable, match="it is not a directory"):
                recover(os.fspath(root))
        assert sorted(one.parent.name for one in mine.rglob("SKILL.md")) == ["precious", "precious"]

    def test_brings_back_nothing_from_a_trash_that_is_a_link(self, root: Path, tmp_path: Path) -> None:
        mine = tmp_path / "mine"
        write_skill(mine / "skills" / "precious", "mine")
        (mine / "entry.json").write_text('{"version": 1, "removed": true}')
        trash = root / ".skillhub" / "trash"
        (trash / self.CHANGE).symlink_to(mine)
        (trash / self.CHANGE.replace("2026", "2027")).mkdir()
        (trash / self.CHANGE.replace("2026", "2027") / "skills").symlink_to(mine / "skills")
        (trash / self.CHANGE.replace("2026", "2027") / "entry.json").write_text('{"version": 1, "removed": true}')
        with pytest.raises(InvalidArgument):
            bring_back(os.fspath(root), os.fspath(root / LOCK))
        steps = [{"move": "restore", "name": "precious", "fingerprint": "", "source": self.CHANGE}]
        (root / ".skillhub" / "journal.json").write_text(self.hostile(steps=steps, committed=True))
        with pytest.raises(LibraryUnwritable, match="it is not a directory"):
            recover(os.fspath(root))
        assert (mine / "skills" / "precious" / "SKILL.md").exists()

    def test_in_a_project_that_nobody_agreed_to_does_nothing(self, tmp_path: Path, root: Path) -> None:
        project = tmp_path / "project"
        (project / ".git").mkdir(parents=True)
        (project / ".agents").mkdir()
        root.rename(project / ".agents" / "skills")
        there = project / ".agents" / "skills"
        killed(there)
        now = left_behind(there)
        environment = {
            "SKILLHUB_ROOTS": "project",
            "SKILLHUB_CWD": str(project),
            "EMBEDDING_PROVIDER": "none",
            "DB_PATH": str(tmp_path / "db"),
        }
        with hub_of(environment) as hub:
            hub.skills()
        assert left_behind(there) == now


@pytest.fixture
def cluttered(root: Path) -> Path:
    """A root with skills in the trash and in staging, and a journal-like file."""
    for text in ("two", "three"):
        with changing(os.fspath(root)) as one:
            install(one, {"replaced": text}, removals=["gone"])
    write_skill(root / ".skillhub" / "staging" / "hidden", "one")
    assert len(list((root / ".skillhub").rglob("SKILL.md"))) >= 3
    return root


@pytest.fixture
def environment(cluttered: Path) -> dict[str, str]:
    return {
        "SKILLS_DIR": str(cluttered),
        "EMBEDDING_PROVIDER": "none",
        "DB_PATH": str(cluttered.parent / "db"),
        "SKILLHUB_SERVE_DOTFILES": "1",
        "HOME": str(cluttered.parent),
    }


SKILLS = ["kept", "replaced"]


class TestNothingOfTheHubsOwn:
    def test_is_found_searched_or_listed(self, environment: dict[str, str]) -> None:
        with hub_of(environment) as hub:
            assert sorted(skill.name for skill in hub.skills()) == SKILLS
            assert {hit.skill.name for hit in hub.search("one two three hidden gone", limit=50).hits} <= set(SKILLS)
            assert sorted(Path(one.skill.directory).name for one in hub.listed()) == SKILLS
            assert hub.refresh().snapshot.report.refused == ()

    def test_is_audited_or_validated(self, cluttered: Path) -> None:
        for found in (targets([str(cluttered)]), targets_below(make_roots([str(cluttered)]))):
            assert sorted(os.path.relpath(one.path, cluttered) for one in found) == [
                f"{one}/SKILL.md" for one in SKILLS
            ]

    def test_is_served_as_resources_or_published(self, environment: dict[str, str]) -> None:
        with publishing(environment) as (publisher, hub):
            assert sorted((one.uri or "").split("/")[-2] for one in publisher.publications()) == SKILLS
            library = library_to_publish(read_settings(environment)[0], hub)
            assert [one.skill.name for one in library.skills] == SKILLS

    def test_counts_in_what_a_project_is_trusted_for(self, cluttered: Path) -> None:
        root = replace(make_roots([str(cluttered)])[0], within=str(cluttered))
        before = brought_digest(root)
        shutil.rmtree(cluttered / ".skillhub")
        assert brought_digest(root) == before


def test_a_replica_writes_nothing_into_a_root_and_mends_none(environment: dict[str, str], cluttered: Path) -> None:
    (cluttered / ".skillhub" / "journal.json").write_text("{}")
    before = sorted(cluttered.rglob("*"))
    replica = {"SKILLHUB_READ_ONLY": "1", "SKILLHUB_MIRROR_DIR": str(cluttered.parent / "mirror")}
    with hub_of({**environment, **replica, "DB_PATH": str(cluttered.parent / "none")}):
        pass
    assert sorted(cluttered.rglob("*")) == before


def test_a_lock_that_is_deleted_meanwhile_takes_the_change_back(root: Path) -> None:
    before = skills_in(root)
    killed(root)
    (root / LOCK).unlink()
    recover(os.fspath(root))
    assert skills_in(root) == before
    (root / LOCK).write_text(lock_text(before))
    assert left_behind(root) == []
