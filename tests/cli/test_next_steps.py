"""The commands at the end of the demo: what serves a person's own skills here, and what connects a client."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import SkillWriter

from skillhub_mcp.cli.commands.demo import next_steps


@pytest.mark.parametrize(
    ("place", "command", "what"),
    [
        ("", "skillhub add SOURCE", "installs skills of a directory, a repository or a site"),
        (".skillhub/skills", "skillhub pick", "searches your 1 skill"),
        (".codex/skills", "skillhub roots add --all", "serves the 1 skill found here"),
    ],
)
def test_the_commands_are_those_for_what_is_here(
    place: str, command: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_skill: SkillWriter
) -> None:
    for name in ("SKILLS_DIR", "SKILLHUB_ROOTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    if place:
        write_skill("one", root=tmp_path / "me" / place)
    first, *_, last = next_steps({})
    assert (first.command, first.what, last.command) == (command, what, "skillhub connect --all")
