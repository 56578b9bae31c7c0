"""`skillhub permissions`: what a rule changes is said, and a first rule changes nothing that it does not name."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.cli.conftest import SKILLHUB, Skillhub
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


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A project that allows alpha and denies gamma."""
    made = tmp_path.resolve() / "repo"
    (made / ".git").mkdir(parents=True)
    (made / ".skillhub").mkdir()
    lists = {"allow": [ALPHA], "deny": [{**ALPHA, "skill_name": "gamma"}]}
    (made / ".skillhub" / OWN).write_text(json.dumps({"permissions": lists}), encoding="utf-8")
    return made


BROUGHT = "for the skills that the project brings"


def shown(skillhub: Skillhub, *options: str | Path) -> str:
    return skillhub("permissions", "show", *options).out


def others(skillhub: Skillhub, *options: str | Path) -> object:
    return skillhub("permissions", "show", "--json", *options).json["others"]


@pytest.mark.parametrize("verdict", ["allow", "deny"])
def test_a_first_rule_is_refused_until_somebody_says_what_it_means_for_the_others(
    skillhub: Skillhub, own: Path, verdict: str
) -> None:
    for arguments in ([], ["--json"]):
        done = skillhub("permissions", verdict, "alpha", *arguments)
        assert (done.code, done.out) == (2, "")
        assert "--others is required with your first rule" in done.err
        assert "--others allow" in done.err
        assert "--others confirm" in done.err
    assert not own.exists()


def test_a_first_rule_where_a_project_has_rules_is_not_said_to_follow_none(skillhub: Skillhub, repo: Path) -> None:
    done = skillhub("permissions", "deny", "beta", "--cwd", repo)
    until_now = "until now the project's rules decide, about the skills that it brings"
    assert f"--others is required with your first rule: {until_now}\n" in done.err
    elsewhere = skillhub("permissions", "deny", "beta")
    assert "with your first rule: without rules everything is allowed\n" in elsewhere.err


def test_a_first_rule_changes_what_it_names_or_what_its_author_says(skillhub: Skillhub, own: Path) -> None:
    done = skillhub("permissions", "deny", "alpha", "--others", "allow")
    assert (done.code, done.out) == (0, f"deny skill_load alpha: saved in {own}\n")
    assert done.err == "From now on: 1 skill denied: alpha\n"
    assert others(skillhub) == {"load": "allow", "run": "allow"}
    # The second one is not asked about.
    assert skillhub("permissions", "deny", "beta").err == "From now on: 1 skill denied: beta\n"
    assert others(skillhub) == {"load": "allow", "run": "allow"}
    own.unlink()
    done = skillhub("permissions", "deny", "alpha", "--others", "confirm")
    assert done.err == (
        "From now on: 1 skill denied: alpha\nFrom now on: 2 skills only with your consent: beta, gamma\n"
    )
    assert others(skillhub) == {"load": "confirm", "run": "confirm"}
    changed = skillhub("permissions", "deny", "alpha", "--others", "allow", "--json").json
    assert changed["changes"] == [{"action": "load", "decision": "allow", "skills": ["beta", "gamma"]}]


@pytest.mark.skipif(os.name == "nt", reason="this system has no pseudo-terminals")
def test_a_person_on_a_terminal_is_shown_both_and_asked(hub_environment: dict[str, str], own: Path) -> None:
    pty = pytest.importorskip("pty")
    process, terminal = pty.fork()
    if process == 0:
        os.execve(SKILLHUB[0], [*SKILLHUB, "permissions", "deny", "alpha"], {**hub_environment, "TERM": "dumb"})
    seen = b""
    for answer in (b"perhaps\n", b"allow\n"):
        while not seen.endswith(b"[allow/confirm]: "):
            seen += os.read(terminal, 1024)
        os.write(terminal, answer)
        seen += b"\n"
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    os.close(terminal)
    assert b"allow    1 skill denied: alpha\r\n" in seen
    assert b"confirm  1 skill denied: alpha; 2 skills only with your consent: beta, gamma\r\n" in seen
    assert json.loads(own.read_text(encoding="utf-8")) == {"permissions": {"others": "allow", "deny": [ALPHA]}}


def test_a_name_that_no_skill_has_is_refused_with_the_nearest(skillhub: Skillhub, own: Path) -> None:
    for verdict in ("deny", "allow"):
        done = skillhub("permissions", verdict, "alhpa", "--others", "allow", "--json")
        assert (done.code, done.error["message"]) == (2, "NAME 'alhpa' is no skill's name")
        assert done.error["hint"] == "did you mean 'alpha'? --force adds the rule all the same"
    assert not own.exists()
    assert skillhub("permissions", "deny", "alhpa", "--others", "allow", "--force").code == 0
    assert "deny     skill_load alhpa" in skillhub("permissions", "show").out


def test_a_skill_of_the_project_can_be_named_also_where_the_hub_is_elsewhere(
    skillhub: Skillhub, write_skill: SkillWriter, repo: Path
) -> None:
    write_skill("delta", root=repo / ".agents" / "skills")
    assert skillhub("permissions", "deny", "delta", "--others", "allow", "--cwd", repo).code == 0


def test_a_rule_takes_the_place_of_its_opposite_and_show_says_one_thing(skillhub: Skillhub, own: Path) -> None:
    skillhub("permissions", "deny", "alpha", "--others", "confirm")
    done = skillhub("permissions", "allow", "alpha")
    assert done.out == f"removed deny skill_load alpha from {own}\nallow skill_load alpha: saved in {own}\n"
    assert done.err == (
        "From now on: 1 skill allowed: alpha\nFrom now on: 1 skill's commands only with your consent: alpha\n"
    )
    shown = skillhub("permissions", "show").out
    assert "  allow    skill_load alpha\n" in shown
    assert "deny" not in shown
    assert shown.endswith("\nEvery other skill requires your consent.\n")
    skillhub("permissions", "allow")
    shown = skillhub("permissions", "show").out
    assert shown.endswith("\nLoading every other skill is allowed; running its commands requires your consent.\n")


def test_what_is_allowed_here_and_denied_elsewhere_is_said_to_stay_denied(skillhub: Skillhub, repo: Path) -> None:
    done = skillhub("permissions", "allow", "gamma", "--others", "allow", "--cwd", repo)
    assert done.err.startswith(f"{repo}/.skillhub/{OWN} has deny skill_load gamma, which still counts, {BROUGHT}\n")


def test_forgetting_says_what_was_removed_in_every_spelling(skillhub: Skillhub, own: Path) -> None:
    own.parent.mkdir(parents=True)
    lists = {"deny": [ALPHA, {**ALPHA, "tool": "Skill"}], "allow": [{**ALPHA, "skill_name": "beta"}]}
    own.write_text(json.dumps({"permissions": lists}), encoding="utf-8")
    done = skillhub("permissions", "forget", "alpha")
    assert done.out == f"removed deny skill_load alpha from {own}\nremoved deny Skill alpha from {own}\n"
    assert done.err == "From now on: 1 skill only with your consent: alpha\n"
    done = skillhub("permissions", "forget", "beat", "--json")
    assert (done.code, done.error["hint"]) == (2, "did you mean 'beta'?")
    assert done.error["message"].endswith("no rule there is for skill_load beat")
    done = skillhub("permissions", "forget", "beta", "--json")
    assert done.json["removed"] == [{"list": "allow", "rule": {**ALPHA, "skill_name": "beta"}}]
    (note,) = done.json["notes"]
    assert note.startswith("No rule of yours is left, and what no rule decides requires your consent.")
    done = skillhub("permissions", "forget", "alpha")
    assert (done.code, done.out) == (2, "")


def test_what_a_project_allows_is_shown_with_whether_it_counts(skillhub: Skillhub, repo: Path) -> None:
    cwd = ("--cwd", repo)
    assert others(skillhub, *cwd) == {"load": "allow", "run": "allow"}
    skillhub("permissions", "deny", "beta", "--others", "allow", *cwd)
    assert f"{repo}/.skillhub/{OWN}  (about the skills that the project brings)\n" in shown(skillhub, *cwd)
    assert "  allow    skill_load alpha\n" in skillhub("permissions", "show", *cwd).out
    # The project's rules decide about the skills that it brings, and about no others.
    assert others(skillhub, *cwd) == others(skillhub, "--cwd", repo.parent) == {"load": "allow", "run": "allow"}
    skillhub("permissions", "deny", "beta", "--others", "confirm", *cwd)
    assert (
        "  allow    skill_load alpha  (no effect: your own rules decide)\n" in skillhub("permissions", "show", *cwd).out
    )
    assert skillhub("permissions", "show", "--json", *cwd).json["permissions"]["allow"] == []


def test_leave_to_run_is_kept_with_the_files_it_is_for_and_a_change_is_shown(
    skillhub: Skillhub, own: Path, skills_dir: Path
) -> None:
    digest = skill_digest(str(skills_dir / "alpha"))
    done = skillhub("permissions", "allow", "alpha", "--network", "--packages", "--others", "allow")
    assert done.code == 0
    (kept,) = json.loads(own.read_text(encoding="utf-8"))["permissions"]["allow"]
    assert kept == {
        **ALPHA,
        "tool": "run_skill_command",
        "digest": digest,
        "network": True,
        "packages": True,
    }
    about = f"run_skill_command alpha with network and packages of the files {digest[:19]}"
    assert f"  allow    {about}\n" in skillhub("permissions", "show").out
    (skills_dir / "alpha" / "new.py").write_text("")
    changed = "(its files have changed since: it requires your consent)"
    assert f"  allow    {about}  {changed}\n" in skillhub("permissions", "show").out
    # Allowing it again is for the files that are there now, and takes back what is not said again.
    done = skillhub("permissions", "allow", "alpha", "--run")
    assert f"removed allow {about} from" in done.out
    (kept,) = json.loads(own.read_text(encoding="utf-8"))["permissions"]["allow"]
    assert kept == {**ALPHA, "tool": "run_skill_command", "digest": skill_digest(str(skills_dir / "alpha"))}
    skillhub("permissions", "allow", "alpha", "--any-version")
    (kept,) = json.loads(own.read_text(encoding="utf-8"))["permissions"]["allow"]
    assert kept == {**ALPHA, "tool": "run_skill_command"}


def test_the_network_is_allowed_for_one_skill_at_a_time(skillhub: Skillhub, own: Path) -> None:
    done = skillhub("permissions", "allow", "--network", "--others", "allow")
    assert (done.code, "--network is for one skill" in done.err) == (2, True)
    assert not own.exists()
    assert skillhub("permissions", "allow", "--run", "--packages", "--others", "allow").code == 0
