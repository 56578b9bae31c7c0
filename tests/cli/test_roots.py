"""`skillhub roots`, and what list, search and doctor say of skills that are here and not searched."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Done, Skillhub
from tests.conftest import SkillWriter


@pytest.fixture
def home() -> Path:
    """The home directory, which is empty."""
    return Path(os.environ["HOME"])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project that commands run in."""
    (tmp_path / "code" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "code")
    return tmp_path / "code"


def place(done: Done, path: Path) -> Any:
    (found,) = [one for one in done.json["places"] if one["path"] == str(path)]
    return found


def test_the_suggested_command_serves_the_skills(
    skillhub: Skillhub, home: Path, project: Path, write_skill: SkillWriter
) -> None:
    for number in range(3):
        write_skill(f"tool-{number}", root=home / ".claude" / "skills")
    empty = skillhub("list", SKILLS_DIR="")
    assert empty.code == 0
    assert empty.out.startswith(
        "No skills:\n"
        "  3 skills in ~/.claude/skills\n"
        "      are not searched: the directory belongs to Claude Code\n"
        "      → `skillhub roots add claude` serves them\n"
        "  14 examples that come with SkillHub\n"
        "      are not searched: they have not been added\n"
        "      → `skillhub roots add builtin` serves them\n"
    )
    named = skillhub("list", "--json", SKILLS_DIR="").json["not_searched"][0]["command"]
    assert named == "skillhub roots add claude"
    done = skillhub(*named.split()[1:], SKILLS_DIR="")
    assert (done.code, done.out) == (0, "claude is searched from now on: 3 skills\n")
    listed = skillhub("list", SKILLS_DIR="")
    assert [line.split()[0] for line in listed.out.splitlines()] == ["tool-0", "tool-1", "tool-2"]
    # Nothing else is here, and examples are offered to who has nothing.
    assert listed.err == ""
    assert skillhub("roots", "remove", "claude", SKILLS_DIR="").code == 0
    assert skillhub("list", "--json", SKILLS_DIR="").json["skills"] == []


def test_a_project_directory_is_recorded_for_this_project_only(
    skillhub: Skillhub, home: Path, project: Path, tmp_path: Path, write_skill: SkillWriter
) -> None:
    write_skill("ours", root=project / ".cursor" / "skills")
    (tmp_path / "other" / ".git").mkdir(parents=True)
    write_skill("served", root=home / ".agents" / "skills")
    note = skillhub("list", SKILLS_DIR="").err
    assert "1 skill in ./.cursor/skills\n      is not searched: " in note
    assert "`skillhub roots add --project ./.cursor/skills` serves it" in note
    assert skillhub("roots", "add", "--project", "./.cursor/skills", SKILLS_DIR="").out == (
        "./.cursor/skills is searched in this project from now on: 1 skill\n"
    )
    here = skillhub("list", "--json", SKILLS_DIR="").json["skills"]
    assert [(one["name"], one["source"]) for one in here] == [("ours", "project"), ("served", "user")]
    there = skillhub("list", "--json", "--cwd", tmp_path / "other", SKILLS_DIR="").json["skills"]
    assert [one["name"] for one in there] == ["served"]


@pytest.mark.parametrize("link", [".agents/skills", ".agents/skills/deploy"])
@pytest.mark.parametrize("typed", ["the target", "the link"])
def test_a_linked_root_is_served_once_added(
    skillhub: Skillhub, project: Path, write_skill: SkillWriter, tmp_path: Path, link: str, typed: str
) -> None:
    there = write_skill("deploy", root=tmp_path / "shared").resolve()
    path = project / link
    path.parent.mkdir(parents=True)
    path.symlink_to(there if link.endswith("deploy") else there.parent)
    assert f"run `skillhub trust {project.resolve()}`" in " ".join(skillhub("list", SKILLS_DIR="").out.split())
    named = path.resolve() if typed == "the target" else link
    added = skillhub("roots", "add", "--project", named, SKILLS_DIR="").out
    assert "is searched in this project from now on: 1 skill" in added
    assert skillhub("list", SKILLS_DIR="").out.startswith("deploy ")


def test_every_place_is_listed_with_the_command_that_changes_it(
    skillhub: Skillhub, home: Path, project: Path, write_skill: SkillWriter
) -> None:
    write_skill("mine", root=home / ".agents" / "skills")
    write_skill("theirs", root=home / ".codex" / "skills")
    write_skill("added", root=home / "team")
    assert skillhub("roots", "add", home / "team", "builtin", SKILLS_DIR="").code == 0
    done = skillhub("roots", "--json", SKILLS_DIR="")
    own = place(done, home / ".agents" / "skills")
    assert (own["searched"], own["skills"], own["why"], own["setting"]) == (
        (True, 1, "by default", "SKILLHUB_ROOTS=project,hub")
    )
    other = place(done, home / ".codex" / "skills")
    assert (other["searched"], other["skills"], other["client"]) == (False, 1, "Codex")
    assert other["command"] == "skillhub roots add ~/.codex/skills"
    team = place(done, home / "team")
    assert (team["searched"], team["source"], team["command"]) == (True, "hub", "skillhub roots remove ~/team")
    (examples,) = [one for one in done.json["places"] if one["source"] == "builtin"]
    assert (examples["skills"], examples["command"]) == (14, "skillhub roots remove builtin")
    text = skillhub("roots", SKILLS_DIR="").out
    assert "  hub         1 skill  ~/team  (added; `skillhub roots remove ~/team` removes it)\n" in text
    assert "\nNot searched:\n  hub         1 skill  ~/.codex/skills\n" in text
    assert "    the directory belongs to Codex\n    → `skillhub roots add ~/.codex/skills` serves it\n" in text


def test_settings_override_recorded_roots(
    skillhub: Skillhub, home: Path, project: Path, skills_dir: Path, write_skill: SkillWriter
) -> None:
    write_skill("given")
    write_skill("added", root=home / "team")
    write_skill("mine", root=home / ".agents" / "skills")
    done = skillhub("roots", "add", home / "team")
    assert done.out == "~/team is recorded, and not searched here: 1 skill\n"
    assert done.err == "SKILLS_DIR is set here: `skillhub roots` lists what that leaves out\n"

    def names(*options: str, **environment: str) -> list[str]:
        return [one["name"] for one in skillhub("list", "--json", *options, **environment).json["skills"]]

    assert names() == ["given"]
    assert "1 skill in ~/team\n      is not searched: SKILLS_DIR is set" in skillhub("list").err
    assert names(SKILLS_DIR="") == ["added", "mine"]
    # Where SKILLHUB_ROOTS names the hub, what is recorded is a part of it; with SKILLS_DIR that is the hub.
    assert names(SKILLS_DIR="", SKILLHUB_ROOTS="hub") == ["added"]
    assert names(SKILLS_DIR="", SKILLHUB_ROOTS="user") == ["mine"]
    assert names(SKILLHUB_ROOTS="user,hub") == ["given", "mine"]
    unsearched = skillhub("roots", "--json", SKILLHUB_ROOTS="hub")
    assert place(unsearched, home / "team")["setting"] == f"SKILLS_DIR={skills_dir}{os.pathsep}{home}/team"


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ([""], "'' is not a directory"),
        (["file"], "'file' is not a directory"),
        (["~"], "'~' is the home directory or holds it"),
        (["/"], "'/' is the home directory or holds it"),
        (["--project", "builtin"], "--project cannot be used with builtin"),
        (["team", "nowhere"], "'nowhere' is not a directory"),
    ],
)
def test_invalid_roots_are_refused(skillhub: Skillhub, home: Path, project: Path, typed: list[str], says: str) -> None:
    (project / "file").touch()
    (project / "team").mkdir()
    done = skillhub("roots", "add", *typed, SKILLS_DIR="")
    assert done.code == 2
    assert says in done.err
    assert "hint: " in done.err
    assert not (home / ".skillhub").exists()
    assert skillhub("roots", "remove", "team", SKILLS_DIR="").code == 2


def test_places_that_are_searched_already_are_not_recorded(
    skillhub: Skillhub, home: Path, project: Path, write_skill: SkillWriter
) -> None:
    write_skill("mine", root=home / ".agents" / "skills")
    write_skill("theirs", root=home / ".claude" / "skills")
    (home / "link").symlink_to(home / ".claude" / "skills")

    def add(entry: Path | str) -> str:
        return skillhub("roots", "add", entry, SKILLS_DIR="").out

    assert add(home / ".agents" / "skills") == "~/.agents/skills was searched already: 1 skill\n"
    assert add(home / ".claude" / "skills") == "~/.claude/skills is searched from now on: 1 skill\n"
    assert add(home / "link") == "~/link was searched already: 1 skill\n"
    # The word takes the directory over: its skills are the user's then.
    assert add("claude") == "claude is searched from now on: 1 skill\n"
    assert add("claude") == "claude was searched already: 1 skill\n"
    record = json.loads((home / ".skillhub" / "roots.json").read_text("utf-8"))
    assert record["roots"] == [str(home / ".claude" / "skills"), "claude"]
    assert [one["source"] for one in skillhub("list", "--json", SKILLS_DIR="").json["skills"]] == ["user", "user"]


@pytest.mark.parametrize("content", ["{", '{"format": 2, "roots": ["/a"]}'])
def test_an_invalid_record_is_reported_and_ignored(
    skillhub: Skillhub,
    home: Path,
    project: Path,
    write_skill: SkillWriter,
    content: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write_skill("mine", root=home / ".agents" / "skills")
    record = home / ".skillhub" / "roots.json"
    record.parent.mkdir()
    record.write_text(content, encoding="utf-8")
    listed = skillhub("list", SKILLS_DIR="")
    assert (listed.code, listed.out.split()[0]) == (0, "mine")
    assert f"{record} cannot be used: " in caplog.text
    assert skillhub("roots", SKILLS_DIR="").code == 1
    doctor = skillhub("doctor", "--json", SKILLS_DIR="")
    assert doctor.code == 1
    assert [one["subject"] for one in doctor.json["problems"]] == [str(record)]
    for action, target in (("add", home / ".agents" / "skills"), ("remove", "builtin")):
        done = skillhub("roots", action, target, "--json", SKILLS_DIR="")
        assert (done.code, done.error["code"], done.error["path"]) == (1, "POLICY_UNREADABLE", str(record))
    assert record.read_text("utf-8") == content


def test_a_missing_recorded_directory_is_reported(skillhub: Skillhub, home: Path, project: Path) -> None:
    (home / "team").mkdir()
    assert skillhub("roots", "add", home / "team", SKILLS_DIR="").code == 0
    (home / "team").rmdir()
    done = skillhub("list", SKILLS_DIR="")
    assert done.code == 1
    assert "does not exist\n      → create it, or run `skillhub roots remove ~/team`" in done.out
    assert skillhub("roots", "remove", "~/team", SKILLS_DIR="").out == "~/team is no longer searched\n"


def test_why_names_the_command_that_serves_a_place(
    skillhub: Skillhub, home: Path, project: Path, write_skill: SkillWriter
) -> None:
    theirs = write_skill("theirs", root=home / ".cursor" / "skills")
    for asked in ("Theirs", theirs):
        done = skillhub("why", asked, SKILLS_DIR="")
        assert done.code == 1
        first = done.out.splitlines()[1]
        assert first == (
            f"  {theirs}: is not searched: the directory belongs to Cursor; "
            "`skillhub roots add ~/.cursor/skills` serves it"
        )
    outside = write_skill("outside", root=home / "some where")
    assert f"`skillhub roots add '{home}/some where'` has its directory searched" in skillhub("why", outside).out


@pytest.fixture
def replica(skillhub: Skillhub, write_skill: SkillWriter, project: Path, tmp_path: Path) -> dict[str, str]:
    """The settings of a replica of one skill."""
    write_skill("published", "Is published.")
    assert skillhub("publish", tmp_path / "out").code == 0
    return {"SKILLHUB_READ_ONLY": "1", "DB_PATH": str(tmp_path / "out"), "SKILLS_DIR": ""}


def test_a_replica_serves_no_place_of_this_machine(
    skillhub: Skillhub, home: Path, write_skill: SkillWriter, replica: dict[str, str]
) -> None:
    write_skill("local", root=home / ".skillhub" / "skills")
    write_skill("other", root=home / ".claude" / "skills")
    listed = skillhub("list", **replica)
    assert (listed.code, listed.out, listed.err) == (0, "published  hub  Is published.\n", "")
    assert skillhub("list", "--json", **replica).json["not_searched"] == []
    assert skillhub("doctor", "--json", **replica).json["not_searched"] == []
    served = "SKILLHUB_READ_ONLY is set: the publication "
    shown = skillhub("roots", **replica)
    assert shown.out.startswith(served)
    assert "→" not in shown.out
    assert skillhub("roots", "--json", **replica).json["publication"] == replica["DB_PATH"]


def test_a_missing_publication_names_its_setting(skillhub: Skillhub, replica: dict[str, str], tmp_path: Path) -> None:
    wrong = {**replica, "DB_PATH": str(tmp_path / "typo")}
    meant = f"SKILLHUB_DB_PATH is '{tmp_path / 'typo'}', and is to name what `skillhub publish` wrote; "
    for command in (["list"], ["show", "x"], ["search", "x"], ["why", "x"]):
        refused = skillhub(*command, "--json", **wrong)
        assert (refused.code, refused.error["code"]) == (1, "INDEX_UNAVAILABLE")
        assert refused.error["hint"].startswith(meant)
    doctor = skillhub("doctor", "--json", **wrong)
    (problem,) = doctor.json["problems"]
    assert problem["subject"].startswith("the check of the clients")
    assert problem["fix"].startswith(meant)


def test_plugins_are_served_as_their_client_has_them(
    skillhub: Skillhub, home: Path, project: Path, write_skill: SkillWriter
) -> None:
    cache = home / ".claude" / "plugins" / "cache" / "market"
    for name in ("used", "unused"):
        write_skill(f"from-{name}", root=cache / name / "1.0" / "skills")
    write_skill("from-used", "Another skill of this name.", root=home / ".agents" / "skills")
    records = {
        f"{name}@market": [{"scope": "user", "installPath": str(cache / name / "1.0")}] for name in ("used", "unused")
    }
    (home / ".claude" / "plugins" / "installed_plugins.json").write_text(json.dumps({"version": 2, "plugins": records}))
    settings = home / ".claude" / "settings.json"
    settings.write_text(json.dumps({"enabledPlugins": {"unused@market": False}}))

    # What is switched off is listed with the reason, and offered nowhere else.
    listing = skillhub("roots", SKILLS_DIR="").out
    assert "→ `skillhub roots add plugins` serves it" in listing
    assert "Claude Code has the plugin unused switched off" in listing
    assert "unused" not in skillhub("list", SKILLS_DIR="").err

    assert skillhub("roots", "add", "plugins", SKILLS_DIR="").code == 0
    assert {one["name"] for one in skillhub("list", "--json", SKILLS_DIR="").json["skills"]} == {"from-used"}
    found = skillhub("show", "used:from-used", "--json", SKILLS_DIR="")
    assert found.code == 0
    assert "Another" not in found.out
    assert "Another" in skillhub("show", "from-used", "--json", SKILLS_DIR="").out
    assert skillhub("show", "unused:from-unused", SKILLS_DIR="").code == 1

    settings.write_text(json.dumps({"enabledPlugins": {"used@market": False}}))
    listed = skillhub("list", "--json", SKILLS_DIR="").json["skills"]
    assert [one["name"] for one in listed] == ["from-unused", "from-used"]
    assert skillhub("show", "used:from-used", SKILLS_DIR="").code == 1


def test_all_found_places_are_added_together(
    skillhub: Skillhub, home: Path, project: Path, write_skill: SkillWriter
) -> None:
    write_skill("one", root=home / ".claude" / "skills")
    write_skill("two", root=home / ".codex" / "skills")
    write_skill("three", root=project / ".cursor" / "skills")
    assert (
        "~/.codex/skills would be recorded: 1 skill"
        in skillhub("roots", "add", "--all", "--dry-run", SKILLS_DIR="").out
    )
    done = skillhub("roots", "add", "--all", "--json", SKILLS_DIR="")
    assert [one["skills"] for one in done.json["added"]] == [1, 1, 1]
    listed = skillhub("list", "--json", SKILLS_DIR="").json
    assert {one["name"] for one in listed["skills"]} == {"one", "two", "three"}
    assert not [one for one in listed["not_searched"] if one["skills"] == 1]
    record = json.loads((home / ".skillhub" / "roots.json").read_text(encoding="utf-8"))
    assert record["roots"] == ["claude", str(home / ".codex" / "skills")]
    assert record["projects"] == {str(project): [str(project / ".cursor" / "skills")]}
    assert skillhub("roots", "add", "--all", SKILLS_DIR="").out.startswith("Every skill that was found is served")
    for wrong in (("--all", "builtin"), ("--all", "--project"), ()):
        assert skillhub("roots", "add", *wrong, SKILLS_DIR="").code == 2
