"""`skillhub pick`: as lines, and as a question on a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Done, Skillhub, Terminal
from tests.conftest import SkillWriter


@pytest.fixture
def view(skillhub: Skillhub, write_skill: SkillWriter, project: Path) -> dict[str, str]:
    write_skill("pdf", "Reads PDFs; knows review forms.")
    skillhub("disable", "pdf")
    return {"SKILLHUB_ROOTS": "project,hub", "SKILLHUB_CWD": str(project)}


@pytest.mark.acceptance("S0-83", "S0-84", "S0-85", "S0-86")
def test_list_prints_a_line_for_each_skill(skillhub: Skillhub, view: dict[str, str]) -> None:
    assert skillhub("pick", "--list", **view).out == (
        "pdf (off)  user  Reads PDFs; knows review forms.\nrepo-review  repo  Review PRs.\n2 of 2 skills, 1 not on\n"
    )
    assert skillhub("pick", "--list", "zzz", **view).out == "(no match)\n"
    (only,) = skillhub("pick", "--scope", "user", "--json", **view).json["skills"]
    assert (only["name"], only["state"], only["scope"], only["source"]) == ("pdf", "off", "user", "hub")


@pytest.mark.acceptance("S0-83")
@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("REVIEW", ["repo-review", "pdf"]),
        ("forms knows", ["pdf"]),
        (".agents/skills", ["repo-review"]),
        ("prs", ["repo-review"]),
        ("zzz", []),
    ],
)
def test_words_match_names_descriptions_and_paths(
    skillhub: Skillhub, view: dict[str, str], typed: str, names: list[str]
) -> None:
    assert [one["name"] for one in skillhub("pick", typed, "--json", **view).json["skills"]] == names


def test_without_a_terminal_the_list_option_is_suggested(skillhub: Skillhub) -> None:
    done = skillhub("pick")
    assert (done.code, done.out) == (2, "")
    assert "stdin or stderr is redirected" in done.err
    assert "skillhub pick --list" in done.err


@pytest.mark.parametrize(
    ("typed", "code", "out", "said"),
    [
        ("review\n1\n", 0, "repo-review\n", "repo-review  repo  Review PRs."),
        ("1\n", 0, "pdf\n", "agents neither find nor load it (off): skillhub why pdf"),
        ("zzz\n\n", 130, "", "(no match)"),
        ("9\n", 130, "", "2 of 2 skills"),
    ],
)
def test_a_number_takes_a_skill_and_words_search(
    skillhub: Skillhub,
    view: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    code: int,
    out: str,
    said: str,
) -> None:
    stderr = Terminal()
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    monkeypatch.setattr("sys.stderr", stderr)
    done: Done = skillhub("pick", **view)
    assert (done.code, done.out) == (code, out)
    assert said in stderr.getvalue().replace("\x1b[1m", "").replace("\x1b[0m", "")
