"""The digest of a skill: it changes with every executable or readable content, and with nothing else."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from skillhub_mcp.errors import SkillUnverifiable
from skillhub_mcp.skills import digest
from skillhub_mcp.skills.digest import skill_digest, skill_stamp


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    skill = tmp_path / "pdf"
    (skill / "scripts").mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: pdf\ndescription: Reads\n---\nDo it.\n")
    (skill / "scripts" / "read.py").write_text("print(1)\n")
    (skill / "scripts" / "link.py").symlink_to("read.py")
    return skill


def _compile(skill: Path) -> None:
    (skill / "scripts" / "__pycache__").mkdir()
    (skill / "scripts" / "__pycache__" / "read.cpython-312.pyc").write_bytes(b"\0")


def _move_byte_into_name(skill: Path) -> None:
    (skill / "scripts" / "read.py").rename(skill / "scripts" / "read.pyp")
    (skill / "scripts" / "read.pyp").write_text("rint(1)\n")


def _lead_link_elsewhere(skill: Path) -> None:
    (skill / "scripts" / "link.py").unlink()
    (skill / "scripts" / "link.py").symlink_to("../SKILL.md")


def _link_git_elsewhere(skill: Path) -> None:
    (skill / ".git").symlink_to("scripts")


CHANGES: dict[str, Callable[[Path], object]] = {
    "a script's bytes": lambda skill: (skill / "scripts" / "read.py").write_text("print(2)\n"),
    "the instructions": lambda skill: (skill / "SKILL.md").write_text("---\nname: pdf\n---\n"),
    "a new file": lambda skill: (skill / "scripts" / "more.py").write_text(""),
    "a new hidden file": lambda skill: (skill / ".env").write_text("A=1"),
    "compiled code, which Python prefers": _compile,
    "a file that is gone": lambda skill: (skill / "scripts" / "read.py").unlink(),
    "a file of another name": lambda skill: (skill / "scripts" / "read.py").rename(skill / "scripts" / "run.py"),
    "a byte that moved from the content into the name": _move_byte_into_name,
    "a link's target": _lead_link_elsewhere,
    "an executable bit": lambda skill: (skill / "scripts" / "read.py").chmod(0o755),
    "an empty directory": lambda skill: (skill / "empty").mkdir(),
    "a directory that only has the name of Git's": lambda skill: (skill / "scripts" / ".git").mkdir(),
    "a pipe": lambda skill: os.mkfifo(skill / "pipe"),
    "a link that is named as Git's directory": _link_git_elsewhere,
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_executable_content_changes_the_digest(skill: Path, change: str) -> None:
    before = skill_digest(str(skill))
    CHANGES[change](skill)
    assert skill_digest(str(skill)) != before


def test_a_copy_elsewhere_with_other_times_has_the_same_digest(skill: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / "other-name"
    shutil.copytree(skill, copy, symlinks=True)
    os.utime(copy / "SKILL.md", (1, 1))
    (tmp_path / "link").symlink_to(copy)
    assert skill_digest(str(skill)) == skill_digest(str(copy)) == skill_digest(str(tmp_path / "link"))
    assert skill_digest(str(skill)).startswith("sha256:")


def test_the_git_directory_does_not_count(skill: Path) -> None:
    before = skill_digest(str(skill))
    (skill / ".git").mkdir()
    (skill / ".git" / "FETCH_HEAD").write_text("0")
    assert skill_digest(str(skill)) == before


def test_a_link_out_of_the_skill_is_not_followed(skill: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("one")
    (skill / "out").symlink_to(tmp_path / "secret")
    before = skill_digest(str(skill))
    (tmp_path / "secret").write_text("two")
    assert skill_digest(str(skill)) == before


def test_files_beyond_the_byte_limit_count_by_size_and_times(skill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest, "MAX_BYTES", 4)
    before = skill_digest(str(skill))
    os.utime(skill / "SKILL.md", (1, 1))
    assert skill_digest(str(skill)) != before


def test_a_skill_with_too_many_files_cannot_be_compared(skill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest, "MAX_ENTRIES", 3)
    with pytest.raises(SkillUnverifiable, match=r"'pdf' cannot be compared .* more than 3 files"):
        skill_digest(str(skill))


def test_endlessly_nested_directories_cannot_be_compared(skill: Path, make_deep: Callable[[Path], None]) -> None:
    """A repository may contain them, and they used to cause an internal error."""
    make_deep(skill)
    for look in (skill_digest, skill_stamp):
        with pytest.raises(SkillUnverifiable, match="more than 128 directories in each other"):
            look(str(skill))


def test_an_unreadable_file_is_named(skill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, *_: object) -> int:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(SkillUnverifiable, match=r"'SKILL.md' cannot be read: Permission denied"):
        skill_digest(str(skill))
