"""Reading a skill while a command replaces its directory."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.hubs import hub_of

from skillhub_mcp.hub import SkillHub


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


READS: dict[str, tuple[Callable[[SkillHub], str], str]] = {
    "load": (lambda hub: hub.load("pdf").instructions, "As it is.\n"),
    "read": (lambda hub: hub.read_file("pdf", "references/how.md").content, "as it is"),
}


@pytest.mark.parametrize("read", READS)
def test_a_skill_that_is_being_replaced_is_read_again(
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
