"""`skillhub doctor`."""

from __future__ import annotations

import errno
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter, own_file

from skillhub_mcp.clients.probe import Probed
from skillhub_mcp.diagnosis import checks
from skillhub_mcp.diagnosis.installation import CheckResult, Installation
from skillhub_mcp.execution.sandbox import find_sandbox
from skillhub_mcp.version import version


def test_a_sound_installation_ends_with_0_and_verbose_prints_what_works(
    skillhub: Skillhub, write_skill: SkillWriter, skills_dir: Path
) -> None:
    write_skill("painter")
    done = skillhub("doctor", PATH="")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("All well\n  1 skill served\n  no client connected: ")

    verbose = skillhub("doctor", "--verbose", PATH="", SKILLHUB_SANDBOX="off")
    assert verbose.out.splitlines()[5:] == [
        "command   skillhub-mcp is not on PATH",
        f"hub       1 skill  {skills_dir}",
        "index     ready, embeddings: none",
        "sandbox   off",
        "skills    1 served",
        "audit     0 critical, 0 high",
    ]


def test_a_refused_skill_is_named_with_its_line_its_rule_and_its_fix(
    skillhub: Skillhub, write_skill: SkillWriter
) -> None:
    write_skill("painter")
    silent = write_skill("silent", frontmatter="name: silent\ndescription:")
    done = skillhub("doctor", "--verbose")
    assert done.code == 1
    assert done.out.startswith("1 problem\n  1 skill served, 1 found but not served\n")
    assert (
        f"\nproblem  {silent}/SKILL.md:3\n  is refused: there is no description (description-missing)\n  → "
    ) in done.out
    assert "\nhub       1 skill and 1 refused  " in done.out


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_a_named_directory_must_exist_even_if_another_has_skills(
    skillhub: Skillhub, write_skill: SkillWriter, skills_dir: Path, tmp_path: Path, kind: str
) -> None:
    write_skill("painter")
    other = tmp_path / kind
    if kind == "file":
        other.touch()
    done = skillhub("doctor", SKILLS_DIR=f"{skills_dir}{os.pathsep}{other}")
    expected = {
        "missing": ("does not exist", "create it"),
        "file": ("is a file, not a directory", "put a directory there"),
    }
    what, fix = expected[kind]
    assert (done.code, f"\n\nproblem  {other}\n  {what}\n  → {fix}" in done.out) == (1, True)


@pytest.mark.parametrize("setting", ["SKILLHUB_ENABLED_SKILLS", "SKILLHUB_ENABLED_CATEGORIES"])
def test_an_empty_filter_is_a_problem(skillhub: Skillhub, write_skill: SkillWriter, setting: str) -> None:
    write_skill("painter")
    done = skillhub("doctor", **{setting: ","})
    assert (done.code, done.out.count(f"{setting}\n")) == (1, 1)
    assert "is set and names nothing: nothing is served\n  → name something, or unset it to serve every" in done.out
    listed = skillhub("list", **{setting: ","})
    assert f"{setting}\n      names nothing, and so excludes 1 skill" in listed.out
    assert skillhub("list", "--json", **{setting: ","}).json["skills"] == []


def test_a_misspelt_variable_is_a_warning_with_a_suggestion(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("painter")
    done = skillhub("doctor", "--json", PATH="", SKILLHUB_ENABLED_SKILL="painter", SKILLHUB_SKILLS_DIR="/x")
    assert done.code == 0
    warnings = {one["subject"]: one["message"] for one in done.json["warnings"] if one["check"] == "settings"}
    assert warnings == {
        "SKILLHUB_ENABLED_SKILL": "is not a setting and has no effect: did you mean SKILLHUB_ENABLED_SKILLS?",
        "SKILLHUB_SKILLS_DIR": "is not a setting and has no effect: did you mean SKILLS_DIR?",
    }


@pytest.mark.slow
def test_a_file_that_stops_a_server_is_a_problem(skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path) -> None:
    write_skill("painter")
    broken, gone = tmp_path / "broken.json", tmp_path / "gone"
    broken.write_text("{", encoding="utf-8")
    broken.chmod(0o600)

    def problem(**settings: str) -> str:
        done = skillhub("doctor", PATH="", **settings)
        assert done.code == 1
        assert done.out.startswith("1 problem\n  1 skill served")
        return done.out.partition("\n\nproblem  ")[2]

    fix = "  → correct it; a server that needs it does not start\n"
    hooks, config = "SKILLHUB_HOOKS", "SKILLHUB_AGENTS_CONFIG"
    there = f"{hooks}\n  {hooks}={str(gone)!r} cannot be read: No such file or directory\n{fix}"
    assert problem(SKILLHUB_HOOKS=str(gone)) == there
    assert problem(SKILLHUB_HOOKS=str(broken)).startswith(f"{hooks}\n  {hooks}={str(broken)!r} is not valid JSON: ")
    assert problem(SKILLHUB_AGENTS_CONFIG="{").startswith(f"{config}\n  {config}='{{' cannot be used: Invalid JSON: ")
    assert problem(SKILLHUB_TOKENS_FILE=str(gone)).startswith(
        f"{gone}\n  The file of tokens cannot be used: it does not exist\n  → fix it; where it is missing"
    )
    # One that others may write is reported once.
    broken.write_text('{"hooks": {}}', encoding="utf-8")
    assert skillhub("doctor", PATH="", SKILLHUB_HOOKS=str(broken)).out.startswith("All well\n  1 skill served\n")
    broken.chmod(0o666)
    assert problem(SKILLHUB_HOOKS=str(broken)).startswith(f"{broken}\n  is not used: ")


@pytest.mark.slow
def test_served_skills_are_counted_apart_from_excluded_ones(
    skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path
) -> None:
    for name in ("alpha", "beta", "gamma"):
        write_skill(name)
    skillhub("disable", "alpha")
    skillhub("deny", "beta", "--others", "allow")
    done = skillhub("doctor", PATH="")
    assert (done.code, done.out.splitlines()[:2]) == (0, ["All well", "  1 skill served, 2 found but not served"])
    counted = skillhub("doctor", "--verbose", PATH="")
    assert "skills    1 served; 1 off, 1 denied" in counted.out
    limited = skillhub("doctor", "--verbose", SKILLHUB_ENABLED_SKILLS="gamm,beta", PATH="")
    assert "skills    0 served; 1 denied, 2 filtered" in limited.out
    assert "SKILLHUB_ENABLED_SKILLS\n  names skills that are not here: 'gamm' (did you mean 'gamma'?)" in limited.out
    assert limited.code == 1
    as_json = skillhub("doctor", "--json", SKILLHUB_ENABLED_SKILLS="gamma").json
    assert (as_json["served"], as_json["excluded"]) == (1, {"filtered": 2, "off": 0, "denied": 0})
    rules = Path(os.environ["HOME"], ".skillhub", "permissions.json")
    rules.write_text("{", encoding="utf-8")
    unreadable = skillhub("doctor", "--json")
    assert unreadable.code == 1
    assert [problem["subject"] for problem in unreadable.json["problems"]] == [str(rules)]


def test_general_problems_come_before_many_refusals(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("alpha")
    for number in range(30):
        write_skill(f"silent-{number:02}", frontmatter=f"name: silent-{number:02}")
    done = skillhub("doctor", SKILLHUB_ENABLED_SKILLS="alhpa")
    assert done.code == 1
    assert done.out.startswith("31 problems\n  0 skills served")
    # Of many of one kind the first few are shown, and all with --verbose.
    assert done.out.count("\nproblem  ") == 1 + 3 + 1
    assert done.out.endswith("\nproblem  … and 27 more of the skills: skillhub doctor --verbose\n")
    assert skillhub("doctor", "--verbose", SKILLHUB_ENABLED_SKILLS="alhpa").out.count("\nproblem  ") == 31
    assert len(skillhub("doctor", "--json", SKILLHUB_ENABLED_SKILLS="alhpa").json["problems"]) == 31


def test_a_shadowed_skill_is_only_a_note(skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path) -> None:
    write_skill("painter", root=tmp_path / "a")
    lost = write_skill("painter", root=tmp_path / "b")
    roots = {"SKILLS_DIR": f"{tmp_path / 'a'}{os.pathsep}{tmp_path / 'b'}"}
    assert skillhub("doctor", **roots).out.startswith("All well\n  1 skill served\n")
    assert f"\nnote  {lost}\n  lost the name 'painter' to " in skillhub("doctor", "--verbose", **roots).out
    as_json = skillhub("doctor", "--json", **roots).json
    # How commands are confined is this machine's, and how busy it is.
    notes = [note["subject"] for note in as_json["notes"] if note["check"] != "sandbox"]
    assert (as_json["verdict"], notes) == ("well", [str(lost)])


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """Return a directory that others can enter; pytest's are closed to them."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        Path(directory).chmod(0o755)
        yield Path(directory).resolve()


def test_files_that_others_may_write_are_problems(skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path) -> None:
    write_skill("painter")
    rules, log = own_file("permissions.json"), tmp_path / "usage.jsonl"
    rules.write_text("{}", encoding="utf-8")
    for file in (rules, log):
        file.touch()
        file.chmod(0o666)
    done = skillhub("doctor", "--json", PATH="", SKILLHUB_USAGE_LOG=str(log))
    assert done.code == 1
    wrong = "is not used: others may write it (mode 0666)"
    assert [(one["subject"], one["message"], one["fix"]) for one in done.json["problems"]] == [
        (str(file), wrong, f"run chmod go-w {file}") for file in (rules, log)
    ]


def test_a_disabled_sandbox_is_a_warning_if_commands_are_enabled(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("painter")
    off = skillhub("doctor", "--json", SKILLHUB_SANDBOX="off", SKILLHUB_ENABLE_RUN="1").json
    assert off["sandbox"] == {"name": "off", "reason": None}
    (warning,) = [one for one in off["warnings"] if one["check"] == "sandbox"]
    assert "run unconfined" in warning["message"]
    assert skillhub("doctor", "--json", SKILLHUB_SANDBOX="off").json["warnings"] == []


def test_a_missing_sandbox_is_a_problem_if_commands_are_enabled(
    skillhub: Skillhub, write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("painter")
    reason = "bwrap is not installed"
    monkeypatch.setattr("shutil.which", lambda _, **_options: None)
    find_sandbox.cache_clear()
    enabled = skillhub("doctor", "--json", SKILLHUB_ENABLE_RUN="1")
    assert (enabled.code, enabled.json["sandbox"]) == (1, {"name": None, "reason": reason})
    (problem,) = [one for one in enabled.json["problems"] if one["check"] == "sandbox"]
    assert reason in problem["message"]
    without = skillhub("doctor", "--json")
    assert (without.code, [one["check"] for one in without.json["notes"]].count("sandbox")) == (0, 1)


def test_a_failing_check_does_not_stop_the_others(
    skillhub: Skillhub, write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("painter")

    def unreadable(_: Installation) -> CheckResult:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "/somewhere")

    monkeypatch.setattr(checks, "CHECKS", {"places": unreadable, **checks.CHECKS})
    done = skillhub("doctor")
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith("1 problem\n  1 skill served\n")
    assert "\nproblem  the check of the places\n  failed: [Errno 13] Permission denied: '/somewhere'\n" in done.out


@pytest.mark.slow
def test_each_client_entry_is_started_and_problems_reported_with_a_fix(
    skillhub: Skillhub, write_skill: SkillWriter, skills_dir: Path, tmp_path: Path
) -> None:
    write_skill("painter")
    home = tmp_path / "home"
    settings = {
        "SKILLS_DIR": str(skills_dir),
        "DB_PATH": str(tmp_path / "skills.lancedb"),
        "EMBEDDING_PROVIDER": "none",
    }
    well = {"command": sys.executable, "args": ["-m", "skillhub_mcp"], "env": settings}
    for path, content in {
        ".cursor/mcp.json": {"mcpServers": {"skillhub": well}},
        ".lmstudio/mcp.json": {"mcpServers": {"skillhub": {"command": "/gone/skillhub-mcp"}}},
    }.items():
        (home / path).parent.mkdir(parents=True)
        (home / path).write_text(json.dumps(content), encoding="utf-8")
    (home / ".codeium" / "windsurf").mkdir(parents=True)
    report = skillhub("doctor", "--json", HOME=str(home), PATH="").json
    assert len(report["problems"]) == 1, report
    (problem,) = report["problems"]
    assert (problem["check"], problem["subject"]) == ("clients", str(home / ".lmstudio" / "mcp.json"))
    assert problem["message"] == "LM Studio's entry 'skillhub' does not answer: /gone/skillhub-mcp does not exist"
    assert problem["fix"] == "skillhub connect lm-studio"
    cursor, studio = report["connections"]
    assert (cursor["client"], cursor["answers"], cursor["version"]) == ("cursor", True, version())
    assert (studio["client"], studio["answers"]) == ("lm-studio", False)
    notes = {note["message"]: note["fix"] for note in report["notes"] if note["check"] == "clients"}
    assert notes == {"Windsurf is installed here and not connected": "skillhub connect windsurf"}


def test_a_misspelt_setting_of_an_entry_is_a_warning(
    skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("painter")
    monkeypatch.setattr(checks, "probe", lambda *_, **__: Probed("SkillHub", version(), ("search_skills",)))
    entry = {"command": "/opt/skillhub-mcp", "env": {"SKILLHUB_ENABLED_SKILL": "painter"}}
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {"skillhub": entry}}), encoding="utf-8")
    (warning,) = skillhub("doctor", "--json", HOME=str(tmp_path), PATH="").json["warnings"]
    assert warning["subject"] == str(tmp_path / ".cursor" / "mcp.json")
    assert "sets SKILLHUB_ENABLED_SKILL, which is not a setting" in warning["message"]
    assert warning["message"].endswith("did you mean SKILLHUB_ENABLED_SKILLS?")
