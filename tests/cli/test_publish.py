"""`skillhub publish` as a person or a CI types it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter


@pytest.fixture(autouse=True)
def skills(write_skill: SkillWriter) -> None:
    write_skill("pdf", "Fills PDF forms.", files={"a.txt": "one", ".env": "KEY=1"})
    write_skill("git", "Commits changes.")


def test_the_report_counts_what_was_published(skillhub: Skillhub, tmp_path: Path) -> None:
    first = skillhub("publish", tmp_path / "out")
    assert first.code == 0
    lines = first.out.splitlines()
    assert lines[0] == f"published 1: {tmp_path / 'out'}"
    assert lines[1] == "skills  2: 2 new, 0 changed, 0 removed"
    assert lines[2].startswith("files   3, ")
    reported = "  hub/pdf: .env is withheld: dotfiles are served only with SKILLHUB_SERVE_DOTFILES=1"
    assert lines[3:] == ["", "not published (1):", reported]
    again = skillhub("publish", tmp_path / "out")
    assert (again.code, again.out.splitlines()[0]) == (0, f"unchanged since publication 1: {tmp_path / 'out'}")


def test_a_publication_is_listed_and_rolled_back_to(
    skillhub: Skillhub, tmp_path: Path, write_skill: SkillWriter
) -> None:
    out = tmp_path / "out"
    assert "Nothing was published" in skillhub("publish", out, "--list").err
    skillhub("publish", out)
    write_skill("sql", "Queries databases.")
    skillhub("publish", out)
    assert "keeps no publication 7" in skillhub("publish", out, "--rollback", "7").err
    tried = skillhub("publish", out, "--rollback", "1", "--dry-run")
    assert (tried.code, tried.out) == (0, "would publish 3: what publication 1 had, 2 skills\n")
    tried = skillhub("publish", out, "--rollback", "1", "--dry-run", "--json").json
    assert (tried["dry_run"], tried["number"], tried["rolled_back_to"], tried["skills"]) == (True, 3, 1, 2)
    assert len(skillhub("publish", out, "--list", "--json").json["publications"]) == 2
    done = skillhub("publish", out, "--rollback", "1")
    assert (done.code, done.out) == (0, "published 3: what publication 1 had, 2 skills\n")
    lines = skillhub("publish", out, "--list").out.splitlines()
    assert lines[0] == f"3 publications at {out}, newest first; the first is served:"
    assert [line.split()[0] for line in lines[1:]] == ["3", "2", "1"]
    listed = skillhub("publish", out, "--list", "--json").json["publications"]
    assert [(one["number"], one["skills"]) for one in listed] == [(3, 2), (2, 3), (1, 2)]


def test_a_replica_has_nothing_to_publish(skillhub: Skillhub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skillhub("publish", tmp_path / "out")
    monkeypatch.setenv("SKILLHUB_READ_ONLY", "1")
    monkeypatch.setenv("DB_PATH", str(tmp_path / "out"))
    done = skillhub("publish", tmp_path / "again")
    assert (done.code, (tmp_path / "again").exists()) == (2, False)
    assert "SKILLHUB_READ_ONLY" in done.err


def test_a_directory_of_something_else_is_left_alone(skillhub: Skillhub, skills_dir: Path) -> None:
    before = sorted(skills_dir.rglob("*"))
    done = skillhub("publish", skills_dir)
    assert done.code == 2
    assert "TARGET holds 'git', 'pdf', and no publication" in done.err
    assert sorted(skills_dir.rglob("*")) == before


def test_a_library_is_not_published_into_itself(skillhub: Skillhub, skills_dir: Path, tmp_path: Path) -> None:
    linked = tmp_path / "elsewhere" / "linked"
    linked.mkdir(parents=True)
    (linked / "SKILL.md").write_text("---\nname: linked\ndescription: Is linked.\n---\n", encoding="utf-8")
    (skills_dir / "linked").symlink_to(linked)
    (tmp_path / "link").symlink_to(skills_dir)
    root, skill = str(skills_dir), str(linked)
    for target, place in (
        (skills_dir / "pdf" / "out", root),
        (tmp_path / "link" / "out", root),
        (linked / "out", skill),
    ):
        done = skillhub("publish", target)
        assert (done.code, done.out) == (2, "")
        assert f"TARGET would be written into {place}, which is published" in done.err
        assert not target.exists()
    # What lies beside a skill is outside of it.
    assert skillhub("publish", linked.parent / "out").out.startswith("published")


def test_an_empty_library_replaces_no_publication(skillhub: Skillhub, tmp_path: Path) -> None:
    skillhub("publish", tmp_path / "out")
    before = skillhub("publish", tmp_path / "out", "--list").out
    done = skillhub("publish", tmp_path / "out", SKILLHUB_ENABLED_SKILLS="nothing-like-it")
    assert done.code != 0
    assert "nothing replaces a publication by an empty one" in done.err
    assert skillhub("publish", tmp_path / "out", "--list").out == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "TARGET"),
        (["ftp://host/x"], "of ftp:// is none that can be published to"),
        (["out", "--keep", "0"], "must be a whole number of at least 1"),
        (["out", "--rollback", "-1"], "must be a whole number of at least 1"),
        (["s3://key:very-secret@bucket/x"], "credentials belong in SKILLHUB_STORAGE_OPTIONS"),
        ([os.devnull], "TARGET is not a directory"),
        ([f"{os.devnull}/x/y"], "TARGET is not a directory"),
    ],
)
def test_invalid_arguments_are_refused(skillhub: Skillhub, arguments: list[str], said: str) -> None:
    done = skillhub("publish", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "very-secret" not in done.err


@pytest.mark.slow
def test_an_unreachable_store_is_reported_without_credentials(skillhub: Skillhub) -> None:
    options = (
        "region=x,endpoint=http://127.0.0.1:9,allow_http=true,connect_timeout=1s,aws_secret_access_key=very-secret"
    )
    done = skillhub("publish", "s3://bucket/x", "--json", SKILLHUB_STORAGE_OPTIONS=f"aws_access_key_id=an-id,{options}")
    assert done.code == 1
    assert done.error["code"] == "STORAGE_UNAVAILABLE"
    assert "very-secret" not in done.err + done.out
    assert "an-id" not in done.err + done.out
