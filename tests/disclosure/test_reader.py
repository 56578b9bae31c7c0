"""Reads while a command exchanges the directory that is read."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SkillWriter
from tests.hubs import hub_of

from skillhub_mcp.errors import SkillFileNotFound
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.skills.files import confinement


@pytest.fixture
def hub(hub_environment: dict[str, str], write_skill: SkillWriter) -> Iterator[SkillHub]:
    write_skill("pdf", body="As it was.\n", files={"references/how.md": "as it was"})
    with hub_of(hub_environment) as hub:
        assert hub.load("pdf").instructions == "As it was.\n"
        yield hub


@pytest.fixture
def new(tmp_path: Path, skills_dir: Path, hub: SkillHub) -> Path:
    """The directory that is to take the skill's place."""
    place = tmp_path / "new"
    shutil.copytree(skills_dir / "pdf", place)
    (place / "references" / "how.md").write_text("as it is")
    text = (place / "SKILL.md").read_text().replace("As it was.", "As it is.")
    (place / "SKILL.md").write_text(text)
    return place


def once_opened(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> list[int]:
    """Act once, when a read has opened the skill's directory and nothing in it yet; count the reads."""
    reads: list[int] = []
    walk = confinement._walk

    def walk_later(*given: Any) -> Any:
        reads.append(len(reads))
        if len(reads) == 1:
            act()
        return walk(*given)

    monkeypatch.setattr(confinement, "_walk", walk_later)
    return reads


READS: dict[str, tuple[Callable[[SkillHub], str], str]] = {
    "load": (lambda hub: hub.load("pdf").instructions, "As it is.\n"),
    "read": (lambda hub: hub.read_file("pdf", "references/how.md").content, "as it is"),
    "resource": (
        lambda hub: hub.read_bytes(hub.find("pdf"), "references/how.md", max_bytes=100).decode(),
        "as it is",
    ),
}


@pytest.mark.skipif(not confinement.HAS_DESCRIPTORS, reason="files are opened by their paths here")
@pytest.mark.parametrize("read", READS)
def test_a_directory_that_was_exchanged_and_deleted_under_a_read_is_looked_at_once_more(
    hub: SkillHub, new: Path, skills_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    def exchange() -> None:
        (skills_dir / "pdf").rename(tmp_path / "old")
        new.rename(skills_dir / "pdf")
        shutil.rmtree(tmp_path / "old")

    ask, answer = READS[read]
    reads = once_opened(monkeypatch, exchange)
    assert ask(hub) == answer
    assert len(reads) > 1


@pytest.mark.parametrize("read", READS)
def test_a_skill_that_a_command_is_replacing_is_read_once_more(
    hub: SkillHub, new: Path, skills_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    (skills_dir / "pdf").rename(tmp_path / "old")
    rested: list[float] = []

    def rest(seconds: float) -> None:
        rested.append(seconds)
        new.rename(skills_dir / "pdf")

    monkeypatch.setattr("skillhub_mcp.disclosure.reader.time.sleep", rest)
    ask, answer = READS[read]
    assert ask(hub) == answer
    assert rested == [0.05]


def test_what_is_missing_in_a_directory_that_nobody_exchanged_is_asked_for_once(
    hub: SkillHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = once_opened(monkeypatch, lambda: None)
    with pytest.raises(SkillFileNotFound):
        hub.read_file("pdf", "references/none.md")
    assert len(reads) == 1
