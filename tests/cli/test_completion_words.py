"""The words that a shell asks for while somebody types."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter

from skillhub_mcp.cli.completion_words import COMMAND, run

AskForWords = Callable[..., list[str]]


@pytest.fixture
def words(
    hub_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> AskForWords:
    """Ask for the words of a kind after a command line."""

    def go(kind: str, *typed: str | Path, code: int = 0) -> list[str]:
        monkeypatch.setenv("SKILLS_DIR", hub_environment["SKILLS_DIR"])
        assert run([COMMAND, kind, *map(str, typed)]) == code
        sys.stdout.flush()
        return capsysbinary.readouterr().out.decode(errors="surrogateescape").splitlines()

    return go


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("name: plain", "plain"),
        ('name: "Chat with PDF"  ', "Chat with PDF"),
        ("name: 'quoted'\r", "quoted"),
        ("description: d\nname: second", "second"),
        ("name: 請求書", "請求書"),
        ("no: name", "folder"),
        ("name:", "folder"),
    ],
)
def test_a_skill_goes_by_the_name_that_it_gives_itself(
    words: AskForWords, skills_dir: Path, line: str, name: str
) -> None:
    (skills_dir / "folder").mkdir()
    (skills_dir / "folder" / "SKILL.md").write_text(f"---\n{line}\n---\nbody\n", encoding="utf-8", newline="")
    assert words("skills", "skillhub", "show") == [name]


def test_the_command_line_so_far_decides_where_skills_are_looked_for(
    words: AskForWords, write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("here")
    write_skill("there", root=tmp_path / "other")
    assert words("skills") == ["here"]
    assert words("skills", "--skills-dir", tmp_path / "other", "show") == ["there"]
    assert words("skills", "show", f"--skills-dir={tmp_path / 'other'}") == ["there"]
    assert words("skills", "show", "--skills-dir") == ["here"]


def test_recorded_roots_are_words_and_so_are_those_of_a_project(
    words: AskForWords, skillhub: Skillhub, tmp_path: Path
) -> None:
    assert words("roots") == []
    for place in ("builtin", str(tmp_path)):
        assert skillhub("roots", "add", place).code == 0
    assert words("roots", "skillhub", "roots", "remove") == sorted(["builtin", str(tmp_path)])


def test_what_cannot_be_completed_has_no_words(words: AskForWords) -> None:
    assert words("xyzzy") == []
    assert words("skills", "--cwd", "/nowhere", code=1) == []
    assert run([COMMAND]) == 1


def test_a_shell_that_asks_waits_for_no_command_and_no_hub(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("one")
    program = """
import sys
from skillhub_mcp.__main__ import main
sys.argv[1:] = ["__complete", "skills"]
try:
    main()
except SystemExit:
    print(sorted({"skillhub_mcp.bootstrap", "skillhub_mcp.hub", "skillhub_mcp.cli.main", "yaml"} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=hub_environment, capture_output=True, check=True, timeout=60
    )
    assert done.stdout.decode() == "one\n[]\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_keeps_nobody_waiting_who_presses_tab(
    words: AskForWords, skills_dir: Path, write_skill: SkillWriter
) -> None:
    write_skill("one")
    (skills_dir / "pipe").mkdir()
    os.mkfifo(skills_dir / "pipe" / "SKILL.md")
    assert set(words("skills")) <= {"one", "pipe"}
