"""`skillhub enable`, `disable`, `allow`, `deny` and `context resolve`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter, own_file, own_rules


@pytest.fixture
def two(write_skill: SkillWriter) -> None:
    write_skill("alpha", "Does alpha.", body="The body of alpha.\n", files={"a.txt": "A"})
    write_skill("beta", "Does beta.")


def kept(name: str) -> object:
    return json.loads(Path(os.environ["HOME"], ".skillhub", name).read_text(encoding="utf-8"))


@pytest.mark.acceptance("S0-82", "S0-85")
def test_a_disabled_skill_is_off_for_every_command_until_enabled(skillhub: Skillhub, two: None, tmp_path: Path) -> None:
    done = skillhub("disable", "alpha")
    assert (done.code, done.out, done.err) == (0, "alpha is disabled\n", "")
    assert kept("choices.json") == {"format": 1, "user": {"alpha": False}, "projects": {}}
    for arguments in (["show", "alpha"], ["show", "alpha", "--file", "a.txt"]):
        refused = skillhub(*arguments, "--json")
        assert (refused.code, refused.error["code"]) == (1, "SKILL_DISABLED")
    assert "Does alpha" not in skillhub("list").out
    assert "alpha  hub  (off) Does alpha." in skillhub("list", "--all").out
    assert [one["state"] for one in skillhub("list", "--all", "--json").json["skills"]] == ["off", "on"]
    assert skillhub("search", "alpha", "--json").json["skills"] == []
    assert "Does alpha" not in skillhub("context", "catalogue").out
    assert skillhub("context", "resolve", "$alpha", "--json").json["unresolved"][0]["why"] == "off"
    assert skillhub("enable", "ALPHA").out == "alpha is enabled\n"
    assert "The body of alpha." in skillhub("show", "alpha").out


@pytest.mark.acceptance("S0-85")
def test_a_choice_can_be_for_one_project(skillhub: Skillhub, two: None, tmp_path: Path) -> None:
    repo = tmp_path.resolve() / "repo"
    (repo / ".git").mkdir(parents=True)
    assert skillhub("disable", "alpha", "--project", "--cwd", repo).out == "alpha is disabled in this project\n"
    assert skillhub("show", "alpha", "--cwd", repo).code == 1
    assert skillhub("show", "alpha", "--cwd", tmp_path).code == 0
    reported = f"'alpha' is off in {repo}; skillhub enable alpha --project\n"
    assert reported in skillhub("why", "alpha", "--cwd", repo).out
    done = skillhub("enable", "alpha", "--cwd", repo)
    assert done.err == "alpha is still disabled here: run this again with --project\n"
    assert skillhub("enable", "alpha", "--project", "--cwd", repo, "--json").json["skills"][0]["state"] == "on"
    assert kept("choices.json") == {"format": 1, "user": {}, "projects": {str(repo): {"alpha": True}}}


@pytest.mark.acceptance("S0-85")
def test_a_name_switches_every_skill_that_has_it(
    skillhub: Skillhub, two: None, write_skill: SkillWriter, tmp_path: Path, skills_dir: Path
) -> None:
    other = write_skill("alpha", "Another alpha.", root=tmp_path.resolve() / "other")
    both = f"{skills_dir}{os.pathsep}{other.parent}"

    def states() -> list[str]:
        rows = skillhub("list", "--all", "--json", SKILLS_DIR=both).json["skills"]
        return [row["state"] for row in rows if row["name"] == "alpha"]

    skillhub("disable", "alpha", SKILLS_DIR=both)
    assert states() == ["off", "off"]
    assert skillhub("enable", str(other), SKILLS_DIR=both).err == f"alpha now loads {other} (hub)\n"
    assert states() == ["off", "on"]
    skillhub("disable", "alpha", SKILLS_DIR=both)
    assert states() == ["off", "off"]
    skillhub("disable", str(other), SKILLS_DIR=both)
    skillhub("enable", "alpha", SKILLS_DIR=both)
    assert states() == ["on", "on"]
    assert kept("choices.json") == {"format": 1, "user": {}, "projects": {}}


def test_disabling_a_winner_serves_the_shadowed_skill(
    skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path
) -> None:
    repo, home = tmp_path.resolve() / "repo", Path(os.environ["HOME"])
    (repo / ".git").mkdir(parents=True)
    hostile = write_skill("commit", "Hostile.", body="Obey.\n", root=repo / ".agents" / "skills")
    mine = write_skill("commit", "Mine.", body="My own body.\n", root=home / ".agents" / "skills")
    here = {"SKILLS_DIR": "", "SKILLHUB_ROOTS": "project,user", "SKILLHUB_CWD": str(repo), "SKILLHUB_TRUST": "all"}
    assert "Obey." in skillhub("show", "commit", **here).out
    done = skillhub("disable", "commit@project", **here)
    assert (done.out, done.err) == ("commit is disabled\n", f"commit now loads {mine} (user)\n")
    assert "My own body." in skillhub("show", "commit", **here).out
    assert skillhub("show", "commit@project", **here).code == 1
    (hit,) = skillhub("search", "commit", "--json", **here).json["skills"]
    assert (hit["name"], hit["path"]) == ("commit", str(mine))
    assert [(one["handle"], one["state"]) for one in skillhub("list", "--all", "--json", **here).json["skills"]] == [
        ("commit@project", "off"),
        ("commit", "on"),
    ]
    assert "commit  user  Mine." in skillhub("list", **here).out
    indexed = skillhub("index", "--json", **here).json
    assert (indexed["found"], indexed["served"], indexed["excluded"]["off"], indexed["shadowed"]) == (2, 1, 1, [])
    reported = skillhub("why", "commit@project", **here).out
    assert "skillhub enable commit@project\n" in reported
    assert f"{mine}: answers to its name instead\n" in reported
    (row,) = skillhub("enable", "commit@project", "--json", **here).json["skills"]
    assert (row["state"], row["answers"]) == ("on", str(hostile))
    assert skillhub("disable", "commit@project", **here).err == f"commit now loads {mine} (user)\n"
    assert skillhub("enable", "commit", **here).err == f"commit now loads {hostile} (project)\n"


def test_a_glob_or_group_switches_every_selected_skill(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    for name in ("pdf-forms", "pdf-merge", "notes"):
        write_skill(name, category="office" if name == "notes" else "")
    assert skillhub("disable", "pdf-*", "category:office").out.splitlines() == [
        "pdf-forms is disabled",
        "pdf-merge is disabled",
        "notes is disabled",
    ]
    assert skillhub("enable", "source:hub", "--json").json["skills"][0]["name"] == "notes"
    done = skillhub("disable", "tag:nothing")
    assert (done.code, "`skillhub list` shows the skills" in done.err) == (1, True)


def test_an_unknown_name_switches_nothing(skillhub: Skillhub, two: None) -> None:
    done = skillhub("disable", "beta", "alhpa", "--json")
    assert (done.code, done.error["near"]) == (1, ["alpha"])
    assert not Path(os.environ["HOME"], ".skillhub", "choices.json").exists()


def test_an_invalid_file_of_choices_is_named_and_kept(skillhub: Skillhub, two: None, tmp_path: Path) -> None:
    broken = own_file("choices.json")
    broken.write_text('{"format": 1, "user": {"alpha": fal', encoding="utf-8")
    for arguments in (["disable", "beta"], ["show", "beta"], ["search", "beta"], ["list"], ["pick", "--list"]):
        done = skillhub(*arguments)
        assert done.code == 1, arguments
        assert done.err.startswith("error: Your choices.json cannot be used: line 1 is not JSON")
        # The command line names the file.
        assert f"({broken})" in done.err
    assert skillhub("list", "--json").error["path"] == str(broken)
    assert "fal" in broken.read_text(encoding="utf-8")


@pytest.mark.acceptance("S0-62", "S0-63", "S0-64", "S0-66")
def test_rules_apply_to_the_shell_until_forgotten(skillhub: Skillhub, two: None) -> None:
    shown = skillhub("allow")
    assert "No rules: everything is allowed." in shown.out
    done = skillhub("deny", "alpha", "--others", "ask")
    assert done.out == "deny skill_load alpha: saved in ~/.skillhub/permissions.json\n"
    assert kept("permissions.json") == {
        "permissions": {"others": "confirm", "deny": [{"tool": "skill_load", "skill_name": "alpha"}]}
    }
    for arguments in (["show", "alpha"], ["show", "alpha", "--file", "a.txt"]):
        refused = skillhub(*arguments, "--json")
        assert (refused.code, refused.error["code"]) == (1, "PERMISSION_DENIED")
    # A command that the user types counts as consent.
    assert skillhub("show", "beta").code == 0
    assert skillhub("allow", "--others", "allow").err == "Every other skill is allowed.\n"
    assert skillhub("show", "alpha").code == 1
    listed = skillhub("allow", "--json").json
    assert listed["in_force"] is True
    assert listed["others"] == {"load": "allow", "run": "allow"}
    assert "alpha  hub  (denied by a rule) Does alpha." in skillhub("list", "--all").out
    skillhub("allow", "--forget", "alpha")
    assert skillhub("show", "alpha").code == 0
    skillhub("allow", "alpha", "--run")
    assert "allow    run_skill_command alpha" in skillhub("allow").out


@pytest.mark.acceptance("S0-62")
def test_a_denied_skill_is_not_loaded_by_call_by_name_or_by_path(
    skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path
) -> None:
    repo = tmp_path.resolve() / "repo"
    (repo / ".git").mkdir(parents=True)
    place = write_skill("alpha", root=repo / ".agents" / "skills")
    (repo / ".skillhub").mkdir()
    rule = {"tool": "skill_load", "skill_name": "alpha"}
    (repo / ".skillhub" / "permissions.json").write_text(json.dumps({"permissions": {"deny": [rule]}}), "utf-8")
    for arguments in ("name=alpha", f"path={place}"):
        done = skillhub("call", "skill_load", arguments, "--cwd", repo)
        assert (done.code, "PERMISSION_DENIED" in done.out) == (1, True)


@pytest.mark.acceptance("S0-67")
@pytest.mark.parametrize("name", ["Repo-Review", "internal-*", "a--b"])
def test_an_inexact_skill_name_is_refused_in_a_file(skillhub: Skillhub, two: None, name: str) -> None:
    done = skillhub("deny", name)
    assert done.code == (0 if "*" in name else 2)
    assert ("is not a name in lower-case kebab-case" in done.err) is (done.code == 2)
    own_rules(allow=[{"tool": "skill_load"}], deny=[{"tool": "skill_load", "skill_name": name}])
    for arguments in (["show", "alpha"], ["allow"], ["allow", "beta"]):
        done = skillhub(*arguments)
        assert done.code == 1
        assert "permissions.deny[0]: skill_name must be one exact name" in done.err


@pytest.mark.acceptance("S0-80", "S0-81")
def test_mentions_are_resolved(skillhub: Skillhub, two: None, skills_dir: Path) -> None:
    done = skillhub("context", "resolve", "use $alpha on $PATH, then $bta")
    assert done.out == f"alpha  {skills_dir.resolve() / 'alpha'}\n"
    assert done.err == "$bta is not a known skill: beta\n"
    found = skillhub("context", "resolve", f"[$x]({skills_dir / 'beta'})", "--json").json
    assert found == {
        "skills": [{"name": "beta", "handle": "beta", "path": str(skills_dir.resolve() / "beta")}],
        "unresolved": [],
    }


@pytest.mark.acceptance("S0-81")
def test_an_ambiguous_mention_names_its_candidates(
    skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path, skills_dir: Path
) -> None:
    one = write_skill("same", "First.")
    other = write_skill("same", "Second.", root=tmp_path / "other")
    both = f"{skills_dir}{os.pathsep}{tmp_path / 'other'}"
    (unresolved,) = skillhub("context", "resolve", "$same", "--json", SKILLS_DIR=both).json["unresolved"]
    assert unresolved["why"] == "ambiguous"
    assert sorted(unresolved["candidates"]) == sorted(str(place.resolve()) for place in (one, other))
    (other / "SKILL.md").write_bytes((one / "SKILL.md").read_bytes())
    found = skillhub("context", "resolve", "$same", "--json", SKILLS_DIR=both).json
    assert [skill["path"] for skill in found["skills"]] == [str(one.resolve())]


@pytest.mark.skipif(os.name != "posix", reason="modes say nothing there")
@pytest.mark.parametrize(
    "command",
    [("disable", "alpha"), ("deny", "alpha"), ("roots", "add", "."), ("trust",)],
    ids=lambda command: command[0],
)
def test_a_hub_that_others_may_write_is_not_changed(
    skillhub: Skillhub, two: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    brought = tmp_path / "project" / ".agents" / "skills" / "gamma"
    brought.mkdir(parents=True)
    (brought / "SKILL.md").write_text("---\nname: gamma\ndescription: Does gamma.\n---\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "project")
    hub = Path(os.environ["HOME"], ".skillhub")
    hub.mkdir()
    hub.chmod(0o777)
    yes = ("--yes",) if command == ("trust",) else ()
    done = skillhub(*command, *yes, SKILLHUB_ROOTS="project,hub")
    assert (done.code, "others may write to a directory" in done.err) == (1, True), done
    assert not list(hub.glob("*.json"))
    assert "Does alpha" in skillhub("search", "alpha").out
