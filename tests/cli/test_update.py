"""`skillhub update`: what changed upstream, what was edited here, and who signed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.library.roots import LOCK, lock_entries
from tests.library.sources.repositories import Executable, Repository, skill_text

from skillhub_mcp.library import install
from skillhub_mcp.library.sources.git_tree import Signature, SignatureState

pytestmark = pytest.mark.usefixtures("apart")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repository")
    made.commit({"skills/pdf/SKILL.md": skill_text("pdf"), "skills/pdf/notes.md": "one\n"}, tags={"v1": True})
    return made


def test_a_skill_renamed_upstream_does_not_take_a_used_name(
    repository: Repository, skillhub: Skillhub, skills_dir: Path
) -> None:
    skillhub("add", repository.url, "--yes")
    mine = skills_dir / "my-forms" / "SKILL.md"
    mine.parent.mkdir()
    mine.write_text(skill_text("forms", "Mine."))
    repository.commit({"skills/pdf/SKILL.md": skill_text("forms", "Renamed.")})
    refused = skillhub("update", "--yes", "--json")
    assert (refused.code, refused.error["code"]) == (1, "CONFLICT")
    assert refused.error["message"] == f"'forms' is there, and no lock says where it is from (in {mine.parent})"
    assert refused.error["hint"] == f"give the skill in {mine.parent} another name, or remove it"
    assert (skills_dir / "pdf" / "SKILL.md").read_text() == skill_text("pdf")
    mine.write_text(skill_text("fields", "Mine."))
    assert skillhub("update", "--yes").code == 0
    assert "Renamed." in skillhub("show", "forms").out


@pytest.mark.slow
def test_upstream_changes_are_listed_shown_and_installed(
    repository: Repository, skillhub: Skillhub, skills_dir: Path
) -> None:
    assert skillhub("add", repository.url, "--yes").code == 0
    assert skillhub("update", "--check").err == "There is nothing to update\n"
    assert skillhub("update").err == "There is nothing to update\n"
    # Another directory's change is none of the skill.
    repository.commit({"README.md": "Hello."})
    assert skillhub("update", "--check", "--json").standings == {"pdf": "current"}
    new = repository.commit(
        {
            "skills/pdf/SKILL.md": skill_text("pdf", body="See https://new.example/x").replace(
                "description", "allowed-tools: Bash\ndescription"
            ),
            "skills/pdf/run.sh": Executable("#!/bin/sh\n"),
        },
        removed=["skills/pdf/notes.md"],
    )
    result = skillhub("update", "--check")
    assert result.code == 0
    assert f" → {new[:8]}" in result.out
    done = skillhub("update")
    assert (done.code, (skills_dir / "pdf" / "notes.md").exists()) == (1, True)
    lines = done.out.splitlines()
    for line in (
        "  new scripts: run.sh",
        "  new hosts in URLs: new.example",
        "  new allowed-tools: Bash",
        "  + run.sh",
        "  - notes.md",
        "  ~ SKILL.md",
        "    -Do it.",
        "    +See https://new.example/x",
    ):
        assert line in lines
    done = skillhub("update", "--yes", "--json")
    assert done.json["installed"]
    ours = lock_entries(skills_dir)["pdf"]["skillhub"]
    assert (ours["commit"], ours["executable"]) == (new, ["run.sh"])
    assert sorted(one.name for one in (skills_dir / "pdf").iterdir()) == ["SKILL.md", "run.sh"]


@pytest.mark.slow
def test_an_edited_skill_is_updated_only_with_theirs_or_ours(
    repository: Repository, skillhub: Skillhub, skills_dir: Path
) -> None:
    skillhub("add", repository.url, "--yes")
    pdf = skills_dir / "pdf"
    (pdf / "notes.md").write_text("mine\n")
    (pdf / "__pycache__").mkdir()
    (pdf / "__pycache__" / "run.pyc").write_text("made by Python")
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf", body="Newer.")})
    refused = skillhub("update", "--yes", "--json")
    assert (refused.code, refused.error["code"]) == (1, "CONFLICT")
    assert refused.error["files"] == ["SKILL.md", "notes.md"]
    assert "Newer." not in (pdf / "SKILL.md").read_text()
    # Theirs stay as they are, and count as edits of what the source has now.
    done = skillhub("update", "pdf", "--yes", "--ours")
    assert (done.code, "edited here, and kept: SKILL.md, notes.md" in done.out) == (0, True)
    assert "edits that are not locked: `skillhub lock pdf`" in done.err
    assert ((pdf / "notes.md").read_text(), "Newer." in (pdf / "SKILL.md").read_text()) == ("mine\n", False)
    assert skillhub("update", "--check", "--json").standings == {"pdf": "current"}
    assert skillhub("verify").code == 1
    repository.commit({"skills/pdf/notes.md": "three\n"})
    done = skillhub("update", "pdf", "--yes", "--theirs")
    assert "edited here, and replaced: SKILL.md, notes.md" in done.out
    assert "lies in its trash" in done.err
    assert ((pdf / "notes.md").read_text(), "Newer." in (pdf / "SKILL.md").read_text()) == ("three\n", True)
    trashed = [one.read_text() for one in (skills_dir / ".skillhub" / "trash").glob("*/skills/pdf/notes.md")]
    assert "mine\n" in trashed
    assert skillhub("verify").code == 0


@pytest.mark.slow
def test_one_edited_skill_does_not_stop_the_update_of_others(
    repository: Repository, skillhub: Skillhub, skills_dir: Path
) -> None:
    repository.commit({"skills/docx/SKILL.md": skill_text("docx")})
    skillhub("add", repository.url, "--skill", "*", "--yes")
    (skills_dir / "pdf" / "notes.md").write_text("mine\n")
    repository.commit({"skills/pdf/notes.md": "two\n", "skills/docx/SKILL.md": skill_text("docx", body="Newer.")})
    done = skillhub("update", "--yes")
    assert (done.code, "refused: pdf: 'pdf' was edited here" in done.err, "--ours" in done.err) == (1, True, True)
    assert (skills_dir / "pdf" / "notes.md").read_text() == "mine\n"
    assert "Newer." in (skills_dir / "docx" / "SKILL.md").read_text()
    done = skillhub("update", "--yes", "--json")
    assert (done.code, done.error["code"]) == (1, "CONFLICT")
    assert skillhub("update", "pdf", "--theirs", "--yes").code == 0
    assert (skills_dir / "pdf" / "notes.md").read_text() == "two\n"


def test_a_skill_that_cannot_be_installed_does_not_stop_others(
    skillhub: Skillhub, skills_dir: Path, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    for name in ("docx", "pdf"):
        (source / name).mkdir(parents=True)
        (source / name / "SKILL.md").write_text(skill_text(name))
    skillhub("add", source, "--skill", "*", "--yes")
    os.mkfifo(source / "pdf" / "more")
    (source / "docx" / "SKILL.md").write_text(skill_text("docx", body="Newer."))
    result = skillhub("update", "--check", "--json")
    assert (result.code, result.standings) == (1, {"docx": "outdated", "pdf": "unknown"})
    done = skillhub("update", "--yes")
    assert (done.code, "pdf: pdf is refused: 'pdf/more' is neither a file nor a directory" in done.err) == (1, True)
    assert "Newer." in (skills_dir / "docx" / "SKILL.md").read_text()


@pytest.mark.slow
def test_a_tag_is_pinned_until_unpin(repository: Repository, skillhub: Skillhub, skills_dir: Path) -> None:
    skillhub("add", f"{repository.url}#v1", "--yes")
    repository.commit({"skills/pdf/notes.md": "two\n"})
    assert skillhub("update", "--check", "--json").standings == {"pdf": "pinned"}
    result = skillhub("update", "--yes")
    assert "`skillhub update --unpin pdf`" in result.err
    assert (skills_dir / "pdf" / "notes.md").read_text() == "one\n"
    assert skillhub("update", "--unpin", "--yes").code == 0
    assert (skills_dir / "pdf" / "notes.md").read_text() == "two\n"
    assert "ref" not in lock_entries(skills_dir)["pdf"]


def test_a_skill_locked_where_it_was_written_is_not_updated_from_itself(skillhub: Skillhub, skills_dir: Path) -> None:
    made = skills_dir / "mine" / "SKILL.md"
    made.parent.mkdir(parents=True)
    made.write_text(skill_text("mine"))
    assert skillhub("lock").code == 0
    made.write_text(skill_text("mine", body="Edited."))
    before = lock_entries(skills_dir)["mine"]["skillhub"]
    assert skillhub("update", "--check", "--json").standings == {"mine": "current"}
    assert skillhub("update", "--yes").code == 0
    assert lock_entries(skills_dir)["mine"]["skillhub"] == before
    assert skillhub("verify").code == 1


@pytest.mark.slow
def test_a_moved_skill_is_followed_and_a_gone_one_stays(
    repository: Repository, skillhub: Skillhub, skills_dir: Path
) -> None:
    skillhub("add", repository.url, "--yes")
    repository.commit({"moved/pdf/SKILL.md": skill_text("pdf", body="Moved.")}, removed=["skills"])
    assert "pdf: it has moved to moved/pdf in its source" in skillhub("update", "--check").err
    done = skillhub("update", "--yes")
    assert "it has moved in its source, from skills/pdf to moved/pdf" in done.out
    assert "Moved." in (skills_dir / "pdf" / "SKILL.md").read_text()
    repository.commit({"x/other/SKILL.md": skill_text("other")}, removed=["moved"])
    assert skillhub("update", "--check", "--json").standings == {"pdf": "gone"}
    result = skillhub("update", "--yes")
    assert (result.code, (skills_dir / "pdf").exists()) == (0, True)
    assert "`skillhub remove pdf` removes it" in result.err
    shutil.rmtree(skills_dir / "pdf")
    assert "`skillhub add --frozen` brings back what the lock says" in skillhub("update", "--check").err


@pytest.mark.slow
def test_another_signer_or_none_is_refused_until_accepted(
    repository: Repository, skillhub: Skillhub, skills_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def signed_by(found: Signature) -> None:
        monkeypatch.setattr(install, "signature_of", lambda _: found)

    ada = Signature(SignatureState.GOOD, "SHA256:ada", "ada@example.org")
    signed_by(ada)
    assert "signed by ada@example.org (SHA256:ada)" in skillhub("add", repository.url, "--yes").out
    ours = lock_entries(skills_dir)["pdf"]["skillhub"]
    assert (ours["signer"], ours["principal"]) == ("SHA256:ada", "ada@example.org")
    repository.commit({"skills/pdf/notes.md": "two\n"})
    for other in (
        Signature(SignatureState.GOOD, "SHA256:eve", "eve@example.org"),
        Signature(SignatureState.UNSIGNED, reason="it is not signed"),
    ):
        signed_by(other)
        refused = skillhub("update", "--yes", "--json")
        assert (refused.code, refused.error["code"]) == (1, "INTEGRITY_FAILED")
        assert "SHA256:ada" in refused.error["expected"]
        assert (skills_dir / "pdf" / "notes.md").read_text() == "one\n"
    assert skillhub("update", "--yes", "--accept-signer", SKILLHUB_REQUIRE_SIGNED="1").code == 1
    assert skillhub("update", "--yes", "--accept-signer").code == 0
    assert "signer" not in lock_entries(skills_dir)["pdf"]["skillhub"]


@pytest.mark.slow
def test_unedited_skills_of_npx_skills_are_updated(
    repository: Repository, skillhub: Skillhub, skills_dir: Path
) -> None:
    def as_npx_left_it() -> None:
        lock = json.loads((skills_dir / LOCK).read_text())
        del lock["skills"]["pdf"]["skillhub"]
        (skills_dir / LOCK).write_text(json.dumps(lock))

    skillhub("add", repository.url, "--yes")
    as_npx_left_it()
    assert skillhub("update", "--check", "--json").standings == {"pdf": "current"}
    assert "would be locked" in skillhub("update", "--dry-run").out
    repository.commit({"skills/pdf/notes.md": "two\n"})
    assert skillhub("update", "--check", "--json").standings == {"pdf": "outdated"}
    assert skillhub("update", "--yes").code == 0
    assert (skills_dir / "pdf" / "notes.md").read_text() == "two\n"
    as_npx_left_it()
    (skills_dir / "pdf" / "notes.md").write_text("mine\n")
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf", body="Newer.")})
    refused = skillhub("update", "--yes", "--json")
    assert (refused.error["code"], refused.error["files"]) == ("CONFLICT", ["SKILL.md", "notes.md"])
    # It does not always say where in its source a skill lies: that is no move.
    lock = json.loads((skills_dir / LOCK).read_text())
    del lock["skills"]["pdf"]["skillPath"]
    (skills_dir / LOCK).write_text(json.dumps(lock))
    assert "moved" not in skillhub("update", "--check").err


def test_a_source_that_went_back_to_an_older_commit_is_reported(
    repository: Repository, skillhub: Skillhub, skills_dir: Path
) -> None:
    old = repository.id_of("main")
    new = repository.commit({"skills/pdf/notes.md": "two\n"})
    assert skillhub("add", repository.url, "--yes").code == 0
    repository.git("update-ref", "refs/heads/main", old)
    said = f"pdf: its source went back to an older commit, {old[:8]}: you have {new[:8]}"
    for command in (["update", "--check"], ["update", "--dry-run"]):
        assert said in skillhub(*command).err
    assert skillhub("update", "--check", "--json").json["skills"][0]["went_back"]
    repository.git("update-ref", "refs/heads/main", new)
    assert "older" not in skillhub("update", "--check").err
