"""A directory's name may have any character but a slash: it forges no line of what a command prints."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter

FORGED = "x\nFORGED line\r\x1b[2J\x85FORGED\u2028FORGED\u202e"
BREAKS = re.compile("[\n\r\x0b\x0c\x85\u2028\u2029]")
CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def place(write_skill: SkillWriter, tmp_path: Path) -> dict[str, str]:
    """The variables of a person in a project, each directory of which is named to forge a line."""
    repo = tmp_path.resolve() / f"repo{FORGED}"
    (repo / ".git").mkdir(parents=True)
    (repo / f"sub{FORGED}").mkdir()
    (repo / f"sub{FORGED}" / "AGENTS.md").write_text("Rules.\n", encoding="utf-8")
    home = Path(os.environ["HOME"])
    mine, theirs = home / ".agents" / "skills", repo / ".agents" / "skills"
    write_skill("mine", root=mine, directory=f"mine{FORGED}", files={f"file{FORGED}.md": "x"})
    for number in range(2):
        write_skill("twice", f"The {number}.", root=mine, directory=f"twice{number}{FORGED}")
    write_skill("theirs", root=theirs, directory=f"theirs{FORGED}")
    write_skill("unsearched", root=repo / ".claude" / "skills", directory=f"unsearched{FORGED}")
    (mine / f"broken{FORGED}").mkdir()
    (mine / f"broken{FORGED}" / "SKILL.md").write_text("---\nname: [\n---\n", encoding="utf-8")
    return {"SKILLS_DIR": "", "SKILLHUB_CWD": str(repo)}


@pytest.mark.parametrize(
    "typed",
    [
        ["list", "--all"],
        ["show", "mine"],
        ["show", f"nobody{FORGED}"],
        ["show", "mine", "--file", f"file{FORGED}.md"],
        ["show", "mine", "--file", f"nothing{FORGED}"],
        ["why", "twice"],
        ["why", "broken"],
        ["why", f"/nowhere/{FORGED}"],
        ["search", "mine"],
        ["context", "resolve", "$mine and $twice"],
        ["context", "cost", "mine"],
        ["index"],
        ["doctor", "--verbose"],
        ["validate"],
        ["audit"],
        ["roots"],
        ["roots", "add", f"/nowhere/{FORGED}"],
        ["trust"],
        ["allow"],
        ["disable", "mine"],
        ["disable", "twice"],
        ["context", "list"],
        ["token", "--file", f"/nowhere/{FORGED}"],
        ["eval", "run", f"/nowhere/{FORGED}"],
        ["stats", f"/nowhere/{FORGED}"],
        ["pick", "--list"],
        ["config"],
    ],
    ids=lambda typed: " ".join(typed[:2]).encode("ascii", "ignore").decode().split("\n")[0],
)
def test_a_directory_with_a_newline_in_its_name_forges_no_line(
    skillhub: Skillhub, place: dict[str, str], typed: list[str]
) -> None:
    done = skillhub(*typed, **place)
    assert done.code in (0, 1, 2)
    for line in BREAKS.split(done.out + done.err):
        assert not line.lstrip().startswith("FORGED"), line
        assert CONTROLS.search(line) is None, line
