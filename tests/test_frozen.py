"""SKILLHUB_FROZEN: a locked skill is served as it was locked, or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.hubs import hub_of
from tests.locks.locked import lock

from skillhub_mcp.errors import LockUnreadable, SkillChanged
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.locks.lock_verifier import LockVerifier
from skillhub_mcp.policy.access import Availability
from skillhub_mcp.skills.files.content import read_file

Opened = Callable[..., SkillHub]


@pytest.fixture
def skill(write_skill: SkillWriter) -> Path:
    """A locked skill with a file, beside one that no lock names."""
    write_skill("other", "Reads invoices from scans.")
    skill = write_skill("pdf", "Reads invoices from PDFs.", files={"run.py": "print(1)\n"})
    lock(skill)
    return skill


@pytest.fixture
def hub(skill: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[SkillHub]:
    frozen = getattr(request, "param", "1")
    environment = {"SKILLS_DIR": str(skill.parent), "DB_PATH": str(tmp_path / "db"), "SKILLHUB_FROZEN": frozen}
    with hub_of(environment) as hub:
        yield hub


def found(hub: SkillHub) -> list[str]:
    return sorted(hit.skill.name for hit in hub.search("invoices").hits)


def test_a_changed_file_withholds_the_skill_everywhere_until_it_is_restored(
    hub: SkillHub, skill: Path, tmp_path: Path
) -> None:
    assert found(hub) == ["other", "pdf"]
    (one,) = [each for each in hub.skills() if each.name == "pdf"]
    refusals: list[Callable[[], object]] = [
        lambda: hub.load("pdf"),
        lambda: hub.read_file("pdf", "run.py"),
        lambda: hub.list_files("pdf"),
        lambda: hub.read_bytes(one, "run.py", max_bytes=1000),
    ]
    lists: list[Callable[[], object]] = [
        lambda: found(hub),
        lambda: [each.name for each in hub.skills()],
        lambda: [each.skill.name for each in hub.listed() if each.served],
        lambda: [each.name for each in hub.catalogue()],
        lambda: [each.name for each in hub.resolve("$pdf and $other", cwd=str(tmp_path)).skills if each.enabled],
    ]
    for number, way in enumerate([*refusals, *lists]):
        (skill / "run.py").write_text(f"print(2) # {number}\n")
        if way in lists:
            assert way() == ["other"]
        else:
            with pytest.raises(SkillChanged):
                way()
        assert hub.snapshot_and_policy()[1].availability(one) is Availability.CHANGED
        (skill / "run.py").write_text("print(1)\n")
        assert found(hub) == ["other", "pdf"]
        assert hub.load("pdf").instructions


def test_other_line_ends_withhold_nothing_and_are_reported(hub: SkillHub, skill: Path) -> None:
    for file in skill.iterdir():
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert found(hub) == ["other", "pdf"]
    assert "print(1)" in hub.read_file("pdf", "run.py").content
    snapshot, policy = hub.snapshot_and_policy()
    (one,) = [each for each in snapshot.everything if each.name == "pdf"]
    assert isinstance(policy.locks, LockVerifier)
    (standing,) = policy.locks.standings([one.directory])
    assert standing.facts()["line_ends"]
    assert "unchanged but for its line ends" in standing.sentence()
    (skill / "run.py").write_bytes(b"print(2)\r\n")
    assert found(hub) == ["other"]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="links need rights there, and there is no FIFO")
@pytest.mark.parametrize(
    "change",
    [
        lambda skill: (skill / ".hidden").write_text("1"),
        lambda skill: (skill / "l").symlink_to("/etc/passwd"),
        lambda skill: (skill / "l").symlink_to("SKILL.md"),
        lambda skill: (skill / "l").symlink_to("/etc"),
        lambda skill: os.mkfifo(skill / "p"),
        lambda skill: (skill / "own").unlink(),
        lambda skill: _retargeted(skill / "own", "/etc/passwd"),
        lambda skill: _retargeted(skill / "run.py", "/etc/passwd"),
    ],
)
def test_an_unlocked_file_link_or_pipe_withholds_the_skill_until_it_is_removed(
    hub: SkillHub, skill: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    (skill / "own").symlink_to("run.py")
    lock(skill)
    shutil.copytree(skill, tmp_path / "before", symlinks=True)
    assert hub.load("pdf").instructions
    change(skill)
    for way in (lambda: hub.load("pdf"), lambda: hub.list_files("pdf")):
        with pytest.raises(SkillChanged, match="not those that were locked"):
            way()
    assert found(hub) == ["other"]
    shutil.rmtree(skill)
    shutil.copytree(tmp_path / "before", skill, symlinks=True)
    assert found(hub) == ["other", "pdf"]


def _retargeted(path: Path, target: str) -> None:
    path.unlink()
    path.symlink_to(target)


def test_a_file_written_during_the_check_is_not_returned(
    hub: SkillHub, skill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = read_file

    def written_meanwhile(*args: object, **named: object) -> object:
        (skill / "run.py").write_text("print(2)\n")
        content = reading(*args, **named)  # type: ignore[arg-type]
        (skill / "run.py").write_text("print(1)\n")
        return content

    monkeypatch.setattr("skillhub_mcp.disclosure.reader.read_file", written_meanwhile)
    with pytest.raises(SkillChanged, match="written while they were read"):
        hub.read_file("pdf", "run.py")


def test_a_read_waits_for_a_command_that_has_not_written_the_lock_yet(
    hub: SkillHub, skill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the two steps, which take milliseconds, the files are not those of the lock."""
    waits: list[float] = []

    def command_ends(seconds: float) -> None:
        waits.append(seconds)
        lock(skill)

    assert found(hub) == ["other", "pdf"]
    monkeypatch.setattr("skillhub_mcp.locks.lock_verifier.time.sleep", command_ends)
    ways: list[Callable[[], object]] = [
        lambda: hub.load("pdf"),
        lambda: hub.read_file("pdf", "run.py"),
        lambda: found(hub).index("pdf"),
    ]
    for number, way in enumerate(ways, 1):
        (skill / "run.py").write_text(f"print({number}0)\n")
        way()
        assert len(waits) == number


def test_an_unreadable_lock_withholds_its_skills(hub: SkillHub, skill: Path) -> None:
    (skill.parent / "skills-lock.json").write_text("<<<<<<< HEAD\n")
    assert found(hub) == []
    with pytest.raises(LockUnreadable, match="markers of a merge"):
        hub.load("pdf")


@pytest.mark.parametrize("hub", ["only"], indirect=True)
def test_only_also_withholds_unlocked_skills(hub: SkillHub) -> None:
    assert found(hub) == ["pdf"]
    with pytest.raises(SkillChanged, match="no lock names it"):
        hub.load("other")


@pytest.mark.parametrize("hub", ["0"], indirect=True)
def test_an_unfrozen_hub_serves_a_changed_skill(hub: SkillHub, skill: Path) -> None:
    (skill / "run.py").write_text("print(2)\n")
    assert found(hub) == ["other", "pdf"]
    assert hub.load("pdf").instructions
