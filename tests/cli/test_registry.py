"""`skillhub registry`: the index and its report."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter


def names(done: Any) -> list[str]:
    return [skill["name"] for skill in done.json["skills"]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    (directory / ".git").mkdir(parents=True)
    return directory


@pytest.mark.acceptance("S3-1")
def test_project_user_and_builtin_are_searched_in_this_order_and_none_must_be_there(
    skillhub: Skillhub, write_skill: SkillWriter, project: Path
) -> None:
    home = Path(os.environ["HOME"])
    write_skill("twice", "From the user.", root=home / ".agent" / "skills")
    options = ("--cwd", str(project), "--roots", "project,user,builtin")
    before = skillhub("registry", "build", "--json", *options, SKILLHUB_TRUST="all")
    assert [(root["source"], root["exists"]) for root in before.json["report"]["roots"]] == [
        ("project", False),
        ("project", False),
        ("user", False),
        ("user", True),
        ("builtin", True),
    ]
    assert before.json["report"]["roots"][3]["path"] == os.path.realpath(home / ".agent" / "skills")
    write_skill("twice", "From the project.", root=project / ".agent" / "skills")
    after = skillhub("registry", "build", "--json", *options, SKILLHUB_TRUST="all")
    assert {skill["name"]: skill["source"] for skill in after.json["skills"]}["twice"] == "project"
    builtin = [skill for skill in after.json["skills"] if skill["source"] == "builtin"]
    assert len(builtin) > 5


@pytest.mark.acceptance("S3-23")
def test_refresh_shows_new_and_removed_skills_and_brings_the_search_index_in_step(
    skillhub: Skillhub, write_skill: SkillWriter
) -> None:
    gone = write_skill("gone", "Paints walls.")
    first = skillhub("registry", "refresh", "--json")
    assert (names(first), first.json["index"]) == (["gone"], {"written": 1, "removed": 0})
    shutil.rmtree(gone)
    write_skill("new", "Paints walls.")
    second = skillhub("registry", "refresh", "--json")
    assert (names(second), second.json["index"]) == (["new"], {"written": 1, "removed": 1})
    found = skillhub("search", "paint", "walls", "--json", SKILLHUB_SKIP_AUTO_REINDEX="1")
    assert names(found) == ["new"]
    text = skillhub("registry", "refresh")
    assert text.out.startswith("search index: 0 written, 0 removed\n")


@pytest.mark.acceptance("S3-25")
def test_refresh_of_named_paths_finds_what_changed_there(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    first = write_skill("first")
    skillhub("registry", "refresh")
    second = write_skill("second")
    assert names(skillhub("registry", "refresh", str(second), "--json")) == ["first", "second"]
    shutil.rmtree(first)
    assert names(skillhub("registry", "refresh", str(first), "--json")) == ["second"]


@pytest.mark.acceptance("S3-28", "S3-29", "S3-37")
def test_the_index_and_its_report_are_written_to_files_with_a_digest_of_the_skills(
    skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path
) -> None:
    def digest(action: str) -> str:
        file = tmp_path / f"{action}.json"
        assert skillhub("registry", action, "--output", str(file)).out == f"wrote {file}\n"
        written = json.loads(file.read_text(encoding="utf-8"))
        return str(written["report"]["digest"] if action == "build" else written["digest"])

    one = write_skill("one", extra="version: 1.0")
    first = digest("build")
    built = json.loads((tmp_path / "build.json").read_text(encoding="utf-8"))
    assert [(skill["name"], skill["meta"]["version"]) for skill in built["skills"]] == [("one", "1.0")]
    assert digest("report") == first
    (one / "SKILL.md").write_text((one / "SKILL.md").read_text(encoding="utf-8") + "More.\n", encoding="utf-8")
    assert digest("build") == first
    write_skill("one", extra="version: 1.1")
    assert digest("build") != first


@pytest.mark.acceptance("S3-33", "S3-34", "S3-35", "S3-36")
def test_the_report_says_what_was_found_ignored_and_in_conflict(
    skillhub: Skillhub, write_skill: SkillWriter, skills_dir: Path, tmp_path: Path
) -> None:
    second = tmp_path / "second"
    write_skill("one", "First.")
    lost = write_skill("one", "Second.", root=second, extra="version: 0.9")
    broken = write_skill("broken", frontmatter="name: broken\ndescription: <b>")
    (skills_dir / ".hidden").mkdir()
    (skills_dir / "empty").mkdir()
    (skills_dir / "notes.txt").write_text("x", encoding="utf-8")
    text = skillhub("registry", "report", SKILLS_DIR=f"{skills_dir}{os.pathsep}{second}")
    report = skillhub("registry", "report", "--json", SKILLS_DIR=f"{skills_dir}{os.pathsep}{second}").json
    roots = [(root["source"], root["priority"], root["found"]) for root in report["roots"]]
    assert roots == [("hub", 1, 2), ("hub", 2, 1)]
    assert (report["found"], report["valid"]) == (3, 1)
    assert report["ignored"]["count"] == 4
    assert report["ignored"]["reasons"] == {
        "directory without a SKILL.md": 1,
        "hidden directory": 1,
        "not a directory": 1,
        "registry-markup": 1,
    }
    assert {"path": str(broken), "rule": "registry-markup"}.items() <= report["ignored"]["places"][-1].items()
    (conflict,) = report["conflicts"]["details"]
    assert conflict["overridden"] == {"source": "hub", "path": str(lost), "version": "0.9"}
    assert conflict["reason"] == "the winner's root comes first"
    assert f"  one: hub {lost} shadowed by hub {skills_dir / 'one'}: the winner's root comes first\n" in text.out
    assert f"  {broken}: the value of 'description' contains an angle bracket (registry-markup, strict)\n" in text.out
    assert report["digest"] in text.out


def test_the_report_says_of_each_root_what_is_the_matter_with_it(
    skillhub: Skillhub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked, scan = tmp_path / "locked", os.scandir
    locked.mkdir()

    def closed(path: str) -> object:
        if str(path) == str(locked):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scan(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", closed)
        unreadable = skillhub("registry", "report", SKILLS_DIR=str(locked)).out
    assert f"1. hub      {locked}: cannot be read (Permission denied)\n" in unreadable
    file = tmp_path / "file"
    file.touch()
    report = skillhub("registry", "report", SKILLS_DIR=f"{file}{os.pathsep}{tmp_path / 'nowhere'}").out
    assert f"1. hub      {file}: is a file, not a directory\n" in report
    assert f"2. hub      {tmp_path}/nowhere: does not exist\n" in report
    one = skillhub("registry", "report", SKILLS_DIR=str(file)).out
    assert "ignored    1 place that gave no skill\n       1  is a file, not a directory\n" in one
    assert f"\nnot read:\n  {file} is a file, not a directory\n" in one


@pytest.mark.acceptance("S3-13")
def test_the_bounds_of_a_strict_registry_are_settings(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("long", extra="\n".join(f"key-{number}: {number}" for number in range(198)))
    write_skill("wide", extra=f"license: {'x' * 490}")
    assert names(skillhub("registry", "build", "--json")) == ["long", "wide"]
    few = skillhub("registry", "build", "--json", SKILLHUB_REGISTRY_MAX_LINES="199")
    narrow = skillhub("registry", "build", "--json", SKILLHUB_REGISTRY_MAX_LINE_CHARACTERS="498")
    assert (names(few), names(narrow)) == (["wide"], ["long"])
    assert narrow.json["report"]["ignored"]["reasons"] == {"registry-line-length": 1}


def test_build_prints_the_skills_and_the_report_and_one_source_alone_if_asked(
    skillhub: Skillhub, write_skill: SkillWriter, project: Path
) -> None:
    write_skill("twice", "From the hub.")
    write_skill("twice", "From the project.", root=project / ".agents" / "skills")
    options = ("--cwd", str(project), "--roots", "project,hub")
    assert skillhub("registry", "build", *options, SKILLHUB_TRUST="all").out.startswith(
        "project  twice  From the project.\n\n1. project"
    )
    of_hub = skillhub("registry", "build", "--source", "hub", "--json", *options, SKILLHUB_TRUST="all")
    assert [(skill["name"], skill["source"]) for skill in of_hub.json["skills"]] == [("twice", "hub")]
    assert skillhub("registry", "build", "--lenient", *options, SKILLHUB_TRUST="all").code == 0


def test_of_a_replica_each_action_tells_of_the_publication(
    skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("published")
    assert skillhub("publish", tmp_path / "out").code == 0
    write_skill("local")
    replica = {"SKILLHUB_READ_ONLY": "1", "DB_PATH": str(tmp_path / "out")}
    for action in (["build"], ["build", "--source", "hub"], ["refresh"]):
        built = skillhub("registry", *action, "--json", **replica)
        assert names(built) == ["published"]
        assert [(root["exists"], root["found"]) for root in built.json["report"]["roots"]] == [(True, 1)]
    assert names(skillhub("registry", "build", "--source", "user", "--json", **replica)) == []
    assert "1. hub      hub: 1 found\n" in skillhub("registry", "report", **replica).out


def test_an_action_must_be_named(skillhub: Skillhub) -> None:
    done = skillhub("registry")
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: ACTION is required\n\nhint: skillhub registry build|report|refresh\n"


def test_a_mistyped_action_and_an_unknown_option_are_told(skillhub: Skillhub) -> None:
    done = skillhub("registry", "bulid")
    assert done.err == ("error: 'bulid' is not an action of 'skillhub registry'\n\nhint: did you mean 'build'?\n")
    assert "--outptu is not an option of 'skillhub registry report'" in skillhub("registry", "report", "--outptu").err


def test_a_file_that_cannot_be_written_is_told(skillhub: Skillhub, tmp_path: Path) -> None:
    done = skillhub("registry", "report", "--output", str(tmp_path / "none" / "x.json"))
    assert done.code == 2
    assert done.err.startswith("error: --output ")
    assert not list(tmp_path.glob("**/*.new"))


@pytest.mark.parametrize("source", [(), ("--source", "project")])
def test_the_index_marks_the_skills_of_an_untrusted_project(
    skillhub: Skillhub, write_skill: SkillWriter, project: Path, source: tuple[str, ...]
) -> None:
    write_skill("theirs", root=project / ".agent" / "skills")
    arguments = ("registry", "build", "--json", *source, "--cwd", str(project), "--roots", "project,hub")
    (skill,) = skillhub(*arguments).json["skills"]
    assert (skill["name"], skill["awaits_trust"]) == ("theirs", True)
    (skill,) = skillhub(*arguments, SKILLHUB_TRUST="all").json["skills"]
    assert "awaits_trust" not in skill
