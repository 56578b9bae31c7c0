"""The log of problems of the library, each once until it changes."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.hubs import hub_of

from skillhub_mcp.bootstrap.server import log_library
from skillhub_mcp.index.writer import SyncDepth
from skillhub_mcp.settings import read_settings


def test_each_problem_is_logged_once_until_it_changes(
    hub_environment: dict[str, str],
    write_skill: SkillWriter,
    skills_dir: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "skillhub_mcp.library")
    second, missing = tmp_path / "second", tmp_path / "missing"
    winner = write_skill("same", "First.")
    loser = write_skill("same", "Second.", root=second)
    silent = write_skill("silent", frontmatter="name: silent\ndescription:")

    def reported() -> list[str]:
        caplog.clear()
        hub.refresh(SyncDepth.VERIFY)
        return [record.getMessage() for record in caplog.records if record.name == "skillhub_mcp.library"]

    environment = {**hub_environment, "SKILLS_DIR": f"{skills_dir}:{second}:{missing}"}
    with hub_of(environment) as hub:
        log_library(hub, read_settings(environment)[0])
        first = reported()
        assert [line.split(";")[0] for line in first] == [
            f"{missing} does not exist",
            f"{silent}/SKILL.md:3 is refused: there is no description (description-missing)",
            f"{loser} lost the name 'same' to {winner}: the winner's root comes first",
        ]
        assert all("; " in line for line in first)
        assert reported() == []
        # Only the new problem is logged.
        broken = write_skill("broken", frontmatter="name: [")
        (only,) = reported()
        assert only.startswith(f"{broken}/SKILL.md")
        # A problem that returns is logged again.
        write_skill("silent", "Speaks.")
        assert reported() == []
        write_skill("silent", frontmatter="name: silent\ndescription:")
        assert [line.split(" is ")[0] for line in reported()] == [f"{silent}/SKILL.md:3"]
        missing.mkdir()
        assert reported() == []


def test_unsearched_places_are_logged_once(
    hub_environment: dict[str, str],
    write_skill: SkillWriter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "skillhub_mcp.library")
    monkeypatch.chdir(tmp_path)
    write_skill("served")
    write_skill("elsewhere", root=Path(hub_environment["HOME"], ".codex", "skills"))

    def reported() -> list[tuple[str, str]]:
        caplog.clear()
        hub.refresh(SyncDepth.VERIFY)
        records = [record for record in caplog.records if record.name == "skillhub_mcp.library"]
        return [(record.levelname, record.getMessage().split(";")[0]) for record in records]

    with hub_of(hub_environment) as hub:
        log_library(hub, read_settings(hub_environment)[0])
        why = "SKILLS_DIR is set, and then nothing else is searched"
        assert reported() == [("INFO", f"1 skill in ~/.codex/skills is not searched: {why}")]
        write_skill("another")
        assert reported() == []
