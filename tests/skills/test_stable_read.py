"""A SKILL.md that somebody is writing while it is read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.conftest import SkillWriter

from skillhub_mcp.errors import SkillUnreadable
from skillhub_mcp.skills import stable_read
from skillhub_mcp.skills.documents import read_document
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.roots import make_roots
from skillhub_mcp.skills.scanner import scan
from skillhub_mcp.skills.stable_read import is_just_written

AN_HOUR_NS = 3_600_000_000_000


@dataclass
class Clock:
    """The time as a reader sees it, who waits without waiting; `meanwhile` is what happens in each such moment."""

    meanwhile: Callable[[], None]
    now: float = 0.0
    waits: int = 0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.waits += 1
        self.meanwhile()

    @staticmethod
    def time_ns() -> int:
        return time.time_ns()


@pytest.fixture
def skill(write_skill: SkillWriter, skills_dir: Path) -> Skill:
    write_skill("one", body="Whole.\n")
    (found,) = scan(make_roots([str(skills_dir)]), memory={}).snapshot.skills
    return found


@pytest.mark.parametrize("half", [b"", b"---\nname: one\ndescr"])
def test_what_is_being_written_is_read_when_it_is_whole(
    skill: Skill, monkeypatch: pytest.MonkeyPatch, half: bytes
) -> None:
    file = Path(skill.directory, "SKILL.md")
    whole = file.read_bytes()
    clock = Clock(lambda: (file.write_bytes(whole), None)[1] if clock.waits == 2 else None)
    monkeypatch.setattr(stable_read, "time", clock)
    file.write_bytes(half)
    assert read_document(skill).instructions == "Whole.\n"
    assert clock.waits == 2
    assert read_document(skill).instructions == "Whole.\n"
    assert clock.waits == 2


def test_what_stays_broken_is_waited_for_a_moment_and_no_longer(skill: Skill, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Path(skill.directory, "SKILL.md")
    clock = Clock(lambda: None)
    monkeypatch.setattr(stable_read, "time", clock)
    file.write_bytes(b"")
    with pytest.raises(SkillUnreadable) as refused:
        read_document(skill)
    assert refused.value.hint == "it was written a moment ago: call again"
    assert 0.3 <= clock.now < 0.5


def test_what_was_broken_long_ago_is_told_at_once(skill: Skill, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Path(skill.directory, "SKILL.md")
    clock = Clock(lambda: None)
    monkeypatch.setattr(stable_read, "time", clock)
    file.write_bytes(b"")
    long_ago = time.time_ns() - AN_HOUR_NS
    os.utime(file, ns=(long_ago, long_ago))
    with pytest.raises(SkillUnreadable) as refused:
        read_document(skill)
    assert (refused.value.hint, clock.waits) == ("fix or remove the file", 0)


def test_what_vanishes_while_it_is_waited_for_is_told(skill: Skill, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Path(skill.directory, "SKILL.md")
    monkeypatch.setattr(stable_read, "time", Clock(lambda: file.unlink(missing_ok=True)))
    file.write_bytes(b"")
    with pytest.raises(SkillUnreadable, match=r"SKILL\.md.*cannot be used"):
        read_document(skill)


@pytest.mark.parametrize(
    ("age_ns", "said"),
    [(0, True), (900_000_000, True), (1_000_000_000, False), (-900_000_000, True), (-AN_HOUR_NS, False)],
)
def test_a_file_is_just_written_for_a_second_and_one_from_the_future_not_for_ever(age_ns: int, said: bool) -> None:
    now = time.time_ns()
    assert is_just_written(now - age_ns, now) is said
