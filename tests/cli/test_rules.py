"""`skillhub allow` and `deny`: rules are saved, printed and forgotten, and a first rule changes only what it names."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub, Terminal
from tests.conftest import SkillWriter

from skillhub_mcp.skills.digest import skill_digest

OWN = "permissions.json"
ALPHA = {"tool": "skill_load", "skill_name": "alpha"}


@pytest.fixture(autouse=True)
def three(write_skill: SkillWriter) -> None:
    for name in ("alpha", "beta", "gamma"):
        write_skill(name, f"Does {name}.")


@pytest.fixture
def own() -> Path:
    return Path(os.environ["HOME"], ".skillhub", OWN)


def test_a_first_rule_changes_only_what_it_names(skillhub: Skillhub, own: Path) -> None:
    done = skillhub("deny", "alpha", "--dry-run")
    assert (done.code, "would be saved" in done.out, own.exists()) == (0, True, False)
    done = skillhub("deny", "alpha", "beta")
    assert done.err == "Every other skill is allowed.\n"
    assert "\n  deny     skill_load alpha\n  deny     skill_load beta\n" in skillhub("deny").out
    assert skillhub("deny", "alpha", "--others", "ask").err == "Every other skill requires your consent.\n"
    assert skillhub("allow", "--json").json["others"] == {"load": "confirm", "run": "confirm"}


def test_the_default_for_others_can_be_set_alone(skillhub: Skillhub, own: Path) -> None:
    assert skillhub("allow", "--others", "ask").code == 0
    assert json.loads(own.read_text(encoding="utf-8")) == {"permissions": {"others": "confirm"}}
    assert skillhub("allow").out.endswith("Every skill requires your consent.\n")


def test_a_rule_for_an_unknown_name_is_saved_with_a_warning(skillhub: Skillhub) -> None:
    done = skillhub("deny", "alhpa")
    assert done.code == 0
    assert "warning: no skill matches 'alhpa' (did you mean 'alpha'?)\n" in done.err
    assert "deny     skill_load alhpa" in skillhub("allow").out


def test_forgetting_an_unknown_rule_names_the_nearest(skillhub: Skillhub) -> None:
    skillhub("deny", "alpha")
    done = skillhub("deny", "--forget", "alhpa", "--json")
    assert (done.code, done.error["hint"]) == (2, "did you mean 'alpha'?")
    assert skillhub("deny", "--forget", "alpha").out.startswith("removed deny skill_load alpha from ")


def test_a_rule_for_commands_is_for_the_present_files(skillhub: Skillhub, own: Path, skills_dir: Path) -> None:
    assert skillhub("allow", "alpha", "--network").code == 0
    (rule,) = json.loads(own.read_text(encoding="utf-8"))["permissions"]["allow"]
    digest = skill_digest(str(skills_dir / "alpha"))
    assert rule == {"tool": "run_skill_command", "skill_name": "alpha", "digest": digest, "network": True}
    (skills_dir / "alpha" / "new.sh").write_text("echo", encoding="utf-8")
    assert "its files have changed since: it requires your consent" in skillhub("allow").out
    skillhub("allow", "alpha", "--any-version")
    assert "digest" not in own.read_text(encoding="utf-8")


@pytest.mark.parametrize(("typed", "code"), [("alpha\n", 0), ("\n", 2)])
def test_allowing_commands_without_a_name_asks_for_the_skill(
    typed: str, code: int, skillhub: Skillhub, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    done = skillhub("allow", "--run")
    assert (done.code, own.exists()) == (code, code == 0)
    assert "Skills: alpha, beta, gamma\nallow commands of which skill? (Enter to leave)" in done.err
    # Loading is allowed without a rule, so that form prints the rules.
    assert skillhub("allow").code == 0


@pytest.mark.acceptance("S0-62")
def test_a_denial_of_the_project_is_reported(skillhub: Skillhub, tmp_path: Path) -> None:
    repo = tmp_path.resolve() / "repo"
    (repo / ".git").mkdir(parents=True)
    (repo / ".skillhub").mkdir()
    (repo / ".skillhub" / OWN).write_text(json.dumps({"permissions": {"deny": [ALPHA]}}), encoding="utf-8")
    done = skillhub("allow", "alpha", "--cwd", repo)
    assert f"{repo}/.skillhub/{OWN} has deny skill_load alpha, which still counts\n" in done.err
    (repo / ".skillhub" / OWN).write_text("{", encoding="utf-8")
    assert "cannot be used: " in skillhub("allow", "--cwd", repo).out


def test_a_group_is_denied_and_forgotten_as_one(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    for name in ("pdf-forms", "pdf-merge", "notes"):
        write_skill(name)
    done = skillhub("deny", "pdf-*", "--json")
    assert done.json["rules"] == [{"tool": "skill_load", "select": "pdf-*"}]
    assert skillhub("show", "pdf-forms").code == 1
    assert skillhub("show", "notes").code == 0
    assert skillhub("deny", "--forget", "pdf-*").code == 0
    assert skillhub("show", "pdf-forms").code == 0
    for refused in (("allow", "--run", "pdf-*"), ("allow", "--run", "--network", "--any-version", "pdf-*")):
        assert skillhub(*refused).code == 2
    assert skillhub("allow", "--run", "--any-version", "pdf-*").code == 0
