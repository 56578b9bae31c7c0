"""The commands at the end of the demo: what serves a person's own skills here, and what connects a client."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillhub_mcp.cli.next_steps import as_typed, next_steps
from skillhub_mcp.skills.places import PlaceReason, SkillPlace, UnsearchedPlace
from skillhub_mcp.skills.roots import Source


def elsewhere(owner: str, skills: int, *, command: str = "", source: Source = Source.HUB) -> UnsearchedPlace:
    reason = PlaceReason("why", command=command or f"skillhub roots add ~/{owner}")
    place = SkillPlace(f"/home/me/{owner}", source, owner=owner)
    directories = tuple(f"{place.path}/{number}" for number in range(skills))
    return UnsearchedPlace(place, f"~/{owner}", directories, False, reason)


EXAMPLES = elsewhere("", 14, command="skillhub roots add builtin", source=Source.BUILTIN)


@pytest.mark.parametrize(
    ("own", "places", "clients", "commands"),
    [
        (0, [EXAMPLES], [], ["skillhub add SOURCE", "skillhub new my-first-skill", "skillhub connect --list"]),
        (3, [], [("cursor", "Cursor")], ["skillhub pick", "skillhub connect cursor"]),
        (
            3,
            [elsewhere("Codex", 2), elsewhere("Claude Code", 34), EXAMPLES],
            [("cursor", "Cursor"), ("codex", "Codex")],
            ["skillhub roots add --all", "skillhub connect --all"],
        ),
    ],
)
def test_the_commands_are_those_for_what_is_here(
    own: int, places: list[UnsearchedPlace], clients: list[tuple[str, str]], commands: list[str]
) -> None:
    assert [step.command for step in next_steps(own, places, clients)] == commands


def test_what_they_do_is_said_of_this_machine() -> None:
    clients = [("a", "A"), ("b", "B"), ("c", "C")]
    skills, connect = next_steps(0, [elsewhere("Claude Code", 34)], clients)
    assert skills.what == "serves the 34 skills of Claude Code"
    assert connect.what == "lets your 3 clients use them"


def test_a_command_is_shown_by_its_path_where_the_shell_would_find_none_or_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program, other = tmp_path / ".venv" / "bin" / "skillhub", tmp_path / "other" / "skillhub"
    for file in (program, other):
        file.parent.mkdir(parents=True)
        file.touch(mode=0o755)
    assert as_typed("skillhub pick", program=str(program), path="") == os.path.join(".venv", "bin", "skillhub pick")
    assert as_typed("skillhub pick", program=str(program), path=str(other.parent)) == ".venv/bin/skillhub pick"
    assert as_typed("skillhub pick", program=str(program), path=str(program.parent)) == "skillhub pick"
    # Started in another way, such as `python -m skillhub_mcp`.
    assert as_typed("skillhub pick", program="/x/__main__.py", path="") == "skillhub pick"
