"""The log of the library: what is refused, shadowed or missing is told once, and again when it changes."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import httpx2
import pytest
from tests.conftest import SkillWriter
from tests.hubs import hub_of
from tests.server.processes import serving

from skillhub_mcp.bootstrap import log_library
from skillhub_mcp.index.sync import SyncDepth


def test_each_problem_is_told_once_and_again_when_it_changed(
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

    def told() -> list[str]:
        caplog.clear()
        hub.refresh(SyncDepth.VERIFY)
        return [record.getMessage() for record in caplog.records if record.name == "skillhub_mcp.library"]

    with hub_of({**hub_environment, "SKILLS_DIR": f"{skills_dir}:{second}:{missing}"}) as hub:
        log_library(hub)
        first = told()
        assert [line.split(";")[0] for line in first] == [
            f"{missing} does not exist",
            f"{silent}/SKILL.md:3 is refused: there is no description (description-missing)",
            f"{loser} lost the name 'same' to {winner}: the winner's root comes first",
        ]
        assert all("; " in line for line in first)
        assert told() == []
        # Something else is new: what was told before is not told again.
        broken = write_skill("broken", frontmatter="name: [")
        (only,) = told()
        assert only.startswith(f"{broken}/SKILL.md")
        # It went away and came back.
        write_skill("silent", "Speaks.")
        assert told() == []
        write_skill("silent", frontmatter="name: silent\ndescription:")
        assert [line.split(" is ")[0] for line in told()] == [f"{silent}/SKILL.md:3"]
        missing.mkdir()
        assert told() == []


def test_of_very_many_problems_the_first_are_told_and_the_rest_counted(
    hub_environment: dict[str, str], write_skill: SkillWriter, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(30):
        write_skill(f"silent-{number:02}", frontmatter=f"name: silent-{number:02}")
    with hub_of(hub_environment) as hub:
        log_library(hub)
        hub.refresh()
        hub.refresh(SyncDepth.VERIFY)
    lines = [record.getMessage() for record in caplog.records if record.name == "skillhub_mcp.library"]
    assert (len(lines), lines[-1]) == (21, "10 more problems; `skillhub doctor` lists them")


@pytest.mark.parametrize("workers", [(), ("--workers", "2")])
def test_a_server_tells_them_on_stderr_once_however_many_processes_it_has(
    hub_environment: dict[str, str], write_skill: SkillWriter, skills_dir: Path, tmp_path: Path, workers: list[str]
) -> None:
    write_skill("good")
    silent = write_skill("silent", frontmatter="name: silent")
    missing = tmp_path / "missing"
    expected = (
        f"{missing} does not exist; create it, or correct SKILLS_DIR",
        f"{silent}/SKILL.md is refused: there is no description",
    )
    places = {"SKILLS_DIR": f"{skills_dir}:{missing}", "SKILLHUB_STATELESS": "1"}
    with serving({**hub_environment, **places}, *workers) as server:
        until = time.monotonic() + 60
        while expected[-1] not in "".join(server.said):
            assert time.monotonic() < until, server.said
            httpx2.get(server.url.replace("/mcp", "/readyz"), timeout=60)
        server.process.terminate()
    said = "".join(server.said)
    assert [said.count(line) for line in expected] == [1, 1]
