"""`skillhub remove`: into the trash and back, what it refuses, and that a search follows."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Done, Skillhub
from tests.library.roots import LOCK, lock_text, locked, skills_in, write_skill

NAMES = ["docx", "pdf", "xlsx"]


@pytest.fixture
def library(skills_dir: Path) -> Path:
    """Three skills, of which the lock names two."""
    skills_dir.mkdir(exist_ok=True)
    for name in NAMES:
        write_skill(skills_dir / name, f"About {name}s.")
    (skills_dir / LOCK).write_text(
        lock_text({name: digest for name, digest in skills_in(skills_dir).items() if name != "xlsx"})
    )
    return skills_dir


def searched(skillhub: Skillhub) -> list[str]:
    found = skillhub("search", "about pdfs docxs xlsxs", "--json").json["skills"]
    return sorted(one["name"] for one in found)


@pytest.mark.acceptance("S3-24")
def test_removed_skills_leave_the_search_and_undo_restores_them(library: Path, skillhub: Skillhub) -> None:
    before, lock = skills_in(library), (library / LOCK).read_text()
    assert searched(skillhub) == NAMES
    done = skillhub("remove", "pdf", "docx")
    assert done.code == 0
    assert done.out == f"pdf is removed from {library}\ndocx is removed from {library}\n"
    assert done.err == "\nto undo: `skillhub remove --undo`\n"
    # The command itself refreshed the index: nothing else does it here.
    assert skillhub("search", "about pdfs", "--json", SKILLHUB_SKIP_AUTO_REINDEX="1").json["searched"] == 1
    assert (list(skills_in(library)), locked(library)) == (["xlsx"], {})
    done = skillhub("remove", "--undo")
    assert (done.code, done.out, done.err) == (0, f"docx is back in {library}\npdf is back in {library}\n", "")
    assert (skills_in(library), (library / LOCK).read_text()) == (before, lock)
    assert searched(skillhub) == NAMES
    again = skillhub("remove", "--undo")
    assert again.code == 2
    assert again.err.startswith(f"error: --undo finds nothing: no removed skill lies in the trash of {library}\n")


def test_the_last_skill_of_a_root_leaves_the_search_too(library: Path, skillhub: Skillhub) -> None:
    (library / LOCK).unlink()
    assert searched(skillhub) == NAMES
    assert skillhub("remove", *NAMES, "--force").code == 0
    # An empty root is otherwise taken for a share that is not mounted, whose skills stay in searches.
    assert searched(skillhub) == []
    assert "has no skill" in skillhub("list").out
    assert skillhub("remove", "--undo").code == 0
    assert searched(skillhub) == NAMES


def test_unlocked_skills_need_force_and_removal_is_all_or_none(library: Path, skillhub: Skillhub) -> None:
    refused = skillhub("remove", "pdf", "xlsx", "--json")
    assert (refused.code, refused.error["code"]) == (1, "CONFLICT")
    assert "--force" in refused.error["hint"]
    assert list(skills_in(library)) == NAMES
    done = skillhub("remove", "pdf", "xlsx", "--force", "--json")
    assert [(one["name"], one["locked"]) for one in done.json["removed"]] == [("pdf", True), ("xlsx", False)]
    assert list(skills_in(library)) == ["docx"]
    assert [one["name"] for one in skillhub("remove", "--undo", "--json").json["restored"]] == ["pdf", "xlsx"]
    assert list(skills_in(library)) == NAMES
    assert list(locked(library)) == ["docx", "pdf"]


def test_a_dry_run_prints_the_same_and_writes_nothing(library: Path, skillhub: Skillhub) -> None:
    assert skillhub("remove", "pdf", "--dry-run").out == f"pdf would be removed from {library}\n"
    assert skillhub("remove", "xlsx", "--dry-run").code == 1
    assert not (library / ".skillhub").exists()
    skillhub("remove", "pdf")
    assert skillhub("remove", "--undo", "--dry-run").out == f"pdf would be back in {library}\n"
    assert list(skills_in(library)) == ["docx", "xlsx"]


def test_a_misspelt_name_gets_a_suggestion(library: Path, skillhub: Skillhub) -> None:
    refused = skillhub("remove", "pdff")
    assert (refused.code, refused.out) == (1, "")
    assert "did you mean 'pdf'?" in refused.err
    assert not (library / ".skillhub").exists()
    assert skillhub("remove").code == 2
    assert skillhub("remove", "--force", "--undo").code == 2
    assert skillhub("remove", "..").code == 1
    assert skillhub("remove", library / "pdf", "--dry-run").code == 0


def test_a_skill_of_another_root_needs_the_option_in_the_hint(
    library: Path, skillhub: Skillhub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    write_skill(project / ".agents" / "skills" / "git", "About git.")
    (project / LOCK).write_text(lock_text({"git": f"sha256:{'0' * 64}"}))
    write_skill(tmp_path / "home" / ".agents" / "skills" / "mail", "About mail.")

    def go(*arguments: str) -> Done:
        return skillhub("remove", *arguments, SKILLHUB_ROOTS="project,user,hub", SKILLHUB_CWD=str(project))

    assert "skillhub remove git --project" in go("git").err
    assert "skillhub remove mail --user" in go("mail").err
    done = go("git", "--project")
    assert done.code == 0
    assert "to undo: `skillhub remove --undo --project`" in done.err
    assert locked(project) == {}
    assert go("--undo", "--project").code == 0
    assert list(locked(project)) == ["git"]
    assert go("mail", "--user").code == 1
    assert go("mail", "--user", "--force").code == 0


def test_hints_name_the_option_for_the_root_of_a_skill(
    library: Path, skillhub: Skillhub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = tmp_path / "second"
    write_skill(second / "mail", "About mail.")
    monkeypatch.chdir(tmp_path)
    both = f"{library}{os.pathsep}{second}"
    skillhub("lock", "--skills-dir", second)
    for command in ("remove", "lock", "verify", "update"):
        for typed in ("mail", "second/mail", "./second/mail/SKILL.md"):
            refused = skillhub(command, typed, SKILLS_DIR=both)
            assert refused.code == 1
            assert refused.err.endswith(f"hint: {second} has one: skillhub {command} mail --skills-dir {second}\n")
    for command in ("lock", "verify", "update", "remove"):
        assert skillhub(command, "mail", "--skills-dir", second, SKILLS_DIR=both).code == 0


@pytest.mark.parametrize("command", ["update", "verify", "lock", "remove"])
def test_a_renamed_skill_is_known_by_its_new_name(
    skillhub: Skillhub, skills_dir: Path, tmp_path: Path, command: str
) -> None:
    write_skill(tmp_path / "source" / "gamma", "About gamma.")
    assert skillhub("add", tmp_path / "source", "--name", "delta", "--yes").code == 0
    done = skillhub(command, "delta", "--json")
    assert (done.code, "delta" in done.out) == (0, True)


def test_an_ambiguous_name_is_refused_with_both_directories(skillhub: Skillhub, skills_dir: Path) -> None:
    for directory in ("one", "two"):
        write_skill(skills_dir / directory, "About gamma.")
        text = (skills_dir / directory / "SKILL.md").read_text()
        (skills_dir / directory / "SKILL.md").write_text(text.replace(f"name: {directory}", "name: gamma"))
    refused = skillhub("remove", "gamma", "--force", "--json")
    assert (refused.code, refused.error["hint"]) == (1, "give the directory: 'one' or 'two'")
    assert skillhub("remove", "one", "--force").code == 0


def test_the_skill_that_has_the_name_now_is_reported(library: Path, skillhub: Skillhub, tmp_path: Path) -> None:
    write_skill(tmp_path / "second" / "pdf", "About pdfs, too.")
    roots = f"{library}{os.pathsep}{tmp_path / 'second'}"
    done = skillhub("remove", "pdf", SKILLS_DIR=roots)
    assert done.code == 0
    assert f"pdf now loads {tmp_path / 'second' / 'pdf'} (hub)" in done.err


def test_a_link_is_removed_and_its_target_stays(library: Path, skillhub: Skillhub, tmp_path: Path) -> None:
    write_skill(tmp_path / "elsewhere", "mine")
    (library / "linked").symlink_to(tmp_path / "elsewhere")
    done = skillhub("remove", "linked", "--force")
    assert f"{tmp_path / 'elsewhere'} stays as it is" in done.err
    assert not os.path.lexists(library / "linked")
    assert (tmp_path / "elsewhere" / "SKILL.md").exists()
    assert skillhub("remove", "--undo").code == 0
    assert os.readlink(library / "linked") == str(tmp_path / "elsewhere")


def test_a_missing_skill_is_removed_from_the_lock(library: Path, skillhub: Skillhub) -> None:
    shutil.rmtree(library / "pdf")
    done = skillhub("remove", "pdf")
    assert (done.code, done.out) == (0, f"pdf is removed from {library / LOCK}\n")
    assert "pdf" not in locked(library)


@pytest.mark.slow
def test_undo_restores_a_named_skill_after_later_removals(library: Path, skillhub: Skillhub) -> None:
    before, lock = skills_in(library), (library / LOCK).read_text()
    skillhub("remove", "docx")
    skillhub("remove", "pdf")
    write_skill(library / "pdf", "mine")
    assert "`skillhub remove --undo NAME` brings another back" in skillhub("remove", "--undo").err
    assert skillhub("remove", "--undo", "docx", "--dry-run").out == f"docx would be back in {library}\n"
    assert skillhub("remove", "--undo", "docx").out == f"docx is back in {library}\n"
    refused = skillhub("remove", "--undo", "docx", "--json")
    assert (refused.code, refused.error["hint"]) == (1, "available skills: pdf")
    skillhub("remove", "pdf", "--force")
    skillhub("remove", "docx")
    # Of pdf the last that was removed is not the one that was locked.
    assert skillhub("remove", "--undo", "docx", "pdf").code == 0
    assert "mine" in (library / "pdf" / "SKILL.md").read_text()
    assert locked(library).keys() == {"docx"}
    skillhub("remove", "pdf", "--force")
    assert skills_in(library)["docx"] == before["docx"]
    assert json.loads((library / LOCK).read_text())["skills"]["docx"] == json.loads(lock)["skills"]["docx"]


def test_an_index_that_cannot_be_refreshed_is_a_warning(library: Path, skillhub: Skillhub, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    done = skillhub("remove", "pdf", "--json", DB_PATH=str(tmp_path / "file" / "db"))
    assert done.code == 0
    assert "cannot be written" in done.json["index_problem"]
    assert json.loads((library / LOCK).read_text())["skills"].keys() == {"docx"}
