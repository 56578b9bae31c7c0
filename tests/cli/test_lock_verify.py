"""`skillhub lock` and `skillhub verify`."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.library.roots import write_skill


def test_present_skills_are_locked_and_edits_reported(skillhub: Skillhub, tmp_path: Path) -> None:
    root = tmp_path / "skills"
    write_skill(root / "one", "one")
    chosen = ["--skills-dir", str(root)]
    missing = skillhub("verify", *chosen)
    assert (missing.code, "skillhub lock" in missing.err) == (1, True)
    assert skillhub("lock", *chosen).out == "one is locked\n"
    assert skillhub("verify", *chosen).out.startswith("1 skill matches ")
    (root / "one" / "scripts" / "run.sh").write_text("echo edited\n")
    result = skillhub("verify", *chosen)
    assert (result.code, result.out) == (1, "one: not as it was locked\n")
    # It is locked as what lies there, so nothing could bring it back.
    again = f"`skillhub lock one --skills-dir {root}`"
    assert result.err == f"\n{again} locks what is there\n"
    left = skillhub("lock", *chosen)
    assert (left.code, left.out) == (1, f"one was edited since it was locked: {again} locks it again\n")
    assert skillhub("lock", "one", *chosen).out == "one is locked again\n"
    verified = json.loads(skillhub("verify", "--json", *chosen).out)
    assert (verified["ok"], verified["skills"][0]["files_differ"]) == (True, False)


def test_hints_work_for_a_name_that_looks_like_an_option(skillhub: Skillhub, tmp_path: Path) -> None:
    root = tmp_path / "skills"
    write_skill(root / "-rf", "-rf")
    chosen = ["--skills-dir", str(root)]
    skillhub("lock", *chosen)
    (root / "-rf" / "scripts" / "run.sh").write_text("echo edited\n")
    for text in (skillhub("lock", *chosen).out, skillhub("verify", *chosen).err):
        assert f"`skillhub lock --skills-dir {root} -- -rf`" in text
    assert skillhub("lock", *chosen, "--", "-rf").out == "-rf is locked again\n"
    assert skillhub("disable", *chosen, "--", "-rf").code == 0
    assert "'-rf' is off; skillhub enable rf\n" in skillhub("why", *chosen, "--", "-rf").out


def test_the_lock_of_a_project_is_where_npx_skills_has_it(skillhub: Skillhub, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write_skill(tmp_path / ".agents" / "skills" / "one", "one")
    done = json.loads(skillhub("lock", "--project", "--json", "--cwd", str(tmp_path)).out)
    assert done["lock"] == str(tmp_path / "skills-lock.json")
    assert done["skills"][0]["source"] == "./.agents/skills/one"
    assert skillhub("verify", "--project", "--cwd", str(tmp_path)).code == 0
    write_skill(tmp_path / ".agents" / "skills" / "two", "two")
    assert "`skillhub lock --project`" in skillhub("verify", "--project", "--cwd", str(tmp_path)).err


def test_a_difference_is_reported_with_the_command_that_restores_unless_edits_are_locked(
    skillhub: Skillhub, skills_dir: Path, tmp_path: Path
) -> None:
    write_skill(tmp_path / "source" / "one", "one")
    skillhub("add", tmp_path / "source", "--yes")
    script = skills_dir / "one" / "scripts" / "run.sh"
    script.write_text("echo edited\n")
    back, lock = "`skillhub add --frozen --replace` brings back", "`skillhub lock one` locks what is there"
    assert f"{back} what the lock says\n{lock}\n" in skillhub("verify").err
    assert skillhub("add", "--frozen", "--replace").code == 0
    shutil.rmtree(skills_dir / "one")
    missing = skillhub("verify")
    assert (missing.code, missing.err) == (1, "\n`skillhub add --frozen` brings back what the lock says\n")
    assert skillhub("add", "--frozen").code == 0
    script.write_text("echo mine\n")
    skillhub("lock", "one")
    script.write_text("echo again\n")
    assert skillhub("verify").err == f"\n{lock}\n"
    refused = skillhub("add", "--frozen", "--replace")
    assert (refused.code, "are only where they were made" in refused.err) == (1, True)
    shutil.rmtree(skills_dir / "one")
    assert skillhub("verify").out == "one: it is missing\n"


@pytest.mark.skipif(os.name == "nt", reason="links need rights there, and there is no FIFO")
def test_links_are_locked_and_changed_links_are_reported(skillhub: Skillhub, skills_dir: Path) -> None:
    one = skills_dir / "one"
    write_skill(one, "one")
    (one / "own").symlink_to("scripts/run.sh")
    skillhub("lock")
    assert skillhub("verify").code == 0
    (one / "own").unlink()
    (one / "own").symlink_to("SKILL.md")
    result = skillhub("verify")
    assert (result.code, result.out) == (1, "one: not as it was locked\n")
    assert "`skillhub lock one` locks what is there" in result.err
    (verified,) = skillhub("verify", "--json").json["skills"]
    assert (verified["ok"], verified["files_differ"], verified["modes"]) == (False, True, [])
    assert skillhub("lock", "one").out == "one is locked again\n"
    (one / "scripts" / "run.sh").chmod(0o644)
    assert "  executable bit changed: scripts/run.sh\n" in skillhub("verify").out
    assert "(scripts/run.sh)" in skillhub("lock").out


def test_edited_skills_are_reported_and_withheld_by_frozen(skillhub: Skillhub, tmp_path: Path) -> None:
    root = tmp_path / "skills"
    write_skill(root / "one", "one")
    write_skill(root / "two", "two")
    chosen = ["--skills-dir", str(root)]
    skillhub("lock", "one", *chosen)
    (root / "one" / "scripts" / "run.sh").write_text("echo edited\n")
    one, two = skillhub("list", "--source", "hub", "--json", *chosen).json["skills"]
    assert (one["lock"]["state"], one["lock"]["source"], one["lock"]["file"]) == ("edited", "./one", None)
    assert two["lock"] == {"state": "unlocked"}
    assert "(edited since it was locked)" in skillhub("list", *chosen).out
    assert "lock:          edited, from ./one\n" in skillhub("show", "one", *chosen).out
    assert skillhub("show", "two", "--json", *chosen).json["lock"] == {"state": "unlocked"}
    doctor = skillhub("doctor", "--json", *chosen).json
    assert doctor["locks"] == {"unchanged": 0, "edited": 1, "unreadable": []}
    frozen = {"SKILLHUB_FROZEN": "1"}
    assert [one["name"] for one in skillhub("list", "--json", *chosen, **frozen).json["skills"]] == ["two"]
    assert "(not as it was locked, edited since it was locked)" in skillhub("list", "--all", *chosen, **frozen).out
    refused = skillhub("show", "one", "--json", *chosen, **frozen)
    assert (refused.code, refused.out) == (1, "")
    assert (refused.error["code"], refused.error["file"]) == ("SKILL_CHANGED", "")
    assert skillhub("show", "two", *chosen, **frozen).code == 0
    assert "is not as it was locked, and is withheld" in skillhub("doctor", *chosen, **frozen).out
    (root / "skills-lock.json").write_text("{")
    assert skillhub("doctor", "--json", *chosen).json["locks"]["unreadable"] == [str(root / "skills-lock.json")]


def test_list_and_show_report_a_source_that_only_npx_skills_recorded(skillhub: Skillhub, skills_dir: Path) -> None:
    write_skill(skills_dir / "npx", "npx")
    entry = {"source": "o/\x1b[2J\u202er\nforged: line", "sourceType": "github", "computedHash": "d" * 64}
    (skills_dir / "skills-lock.json").write_text(json.dumps({"version": 1, "skills": {"npx": entry}}))
    (listed,) = skillhub("list", "--json").json["skills"]
    reported = {"state": "unlocked", "source": entry["source"], "ref": None}
    assert listed["lock"] == {**reported, "recorded_by": "npx skills", "verified": False}
    shown = skillhub("show", "npx").out
    assert "as npx skills says: not verified" in shown
    assert "\nforged:" not in shown
    assert not {"\x1b", "\u202e"} & set(shown)


@pytest.mark.parametrize("where", ["project", "second"])
def test_hints_about_an_edited_skill_name_its_own_lock(
    skillhub: Skillhub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "project" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    root = tmp_path / "second" if where == "second" else tmp_path / where / ".agents" / "skills"
    option = {"project": "--project", "second": f"--skills-dir {root}"}[where]
    write_skill(tmp_path / "first" / "other", "other")
    write_skill(root / "one", "one")
    chosen = {
        "SKILLS_DIR": f"{tmp_path / 'first'}{os.pathsep}{tmp_path / 'second'}",
        "SKILLHUB_ROOTS": "project,user,hub",
        "SKILLHUB_TRUST": "all",
    }
    unlocked = skillhub("show", "one", "--json", SKILLHUB_FROZEN="only", **chosen)
    assert unlocked.error["hint"] == f"its user can lock it with `skillhub lock {option}`"
    assert skillhub("lock", *option.split(), **chosen).code == 0
    script = root / "one" / "scripts" / "run.sh"
    script.write_text("echo edited\n")
    shown = skillhub("show", "one", "--json", SKILLHUB_FROZEN="1", **chosen)
    assert shown.error["hint"] == f"`skillhub verify {option}` names the command that restores it"
    assert f"`skillhub verify {option}` names" in skillhub("why", "one", SKILLHUB_FROZEN="1", **chosen).out
    fix = f"see `skillhub verify {option}`; `skillhub lock one {option}` locks it as it is now"
    assert fix in skillhub("doctor", **chosen).out
    assert f"`skillhub lock one {option}` locks it again" in skillhub("lock", *option.split(), **chosen).out
    refused = skillhub("add", "--frozen", *option.split(), **chosen)
    assert "--replace puts what is there into the trash" in refused.err
    verified = skillhub("verify", *option.split(), **chosen)
    assert (verified.code, "one: not as it was locked" in verified.out) == (1, True)
    assert skillhub("lock", "one", *option.split(), **chosen).code == 0
    assert skillhub("show", "one", SKILLHUB_FROZEN="1", **chosen).code == 0


def test_other_line_ends_are_accepted_and_the_gitattributes_line_offered(
    skillhub: Skillhub, tmp_path: Path, skills_dir: Path
) -> None:
    project, source = tmp_path / "project", tmp_path / "source"
    (project / ".git").mkdir(parents=True)
    write_skill(source / "one", "one")
    here = ["--project", "--cwd", str(project)]
    fix = "`echo '.agents/skills/** -text' >> .gitattributes` keeps git from changing their line ends"
    assert fix in skillhub("add", str(source), "--yes", *here).err
    skill = project / ".agents" / "skills" / "one"
    for file in (skill / "SKILL.md", skill / "scripts" / "run.sh"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    for command in (["verify"], ["add", "--frozen"]):
        done = skillhub(*command, *here)
        assert done.code == 0
        assert f"Only line ends differ from what was locked: one\n{fix}\n" in done.err
    assert skillhub("verify", "--json", *here).json["skills"][0]["line_ends"]
    assert skillhub("add", "--frozen", "--json", *here).json["line_ends"] == ["one"]
    (project / ".gitattributes").write_text(".agents/skills/** -text\n")
    assert ".gitattributes" not in skillhub("verify", *here).err
    # An update does not take them for edits.
    (source / "one" / "more.md").write_text("more\n")
    assert skillhub("update", "--yes", *here).code == 0
    assert skillhub("verify", *here).code == 0
    (skill / "more.md").write_text("other\n")
    assert skillhub("verify", *here).code == 1
