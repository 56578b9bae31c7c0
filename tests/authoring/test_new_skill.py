"""Writing the files of a new skill."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillhub_mcp.authoring.files import write_new
from skillhub_mcp.errors import InvalidArgument, LibraryUnwritable, SkillHubError

FILES = {"SKILL.md": b"one", "scripts/run.py": b"two"}


def test_missing_parent_directories_are_created(tmp_path: Path) -> None:
    write_new(str(tmp_path / "deep" / "er" / "one"), FILES)
    assert (tmp_path / "deep" / "er" / "one" / "scripts" / "run.py").read_bytes() == b"two"


@pytest.mark.parametrize("kind", ["directory", "file", "dangling link"])
def test_existing_files_are_not_overwritten(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "one"
    if kind == "directory":
        place.mkdir()
    elif kind == "file":
        place.write_text("mine")
    else:
        place.symlink_to(tmp_path / "nowhere")
    before = place.lstat()
    with pytest.raises(InvalidArgument, match=r"NAME is taken: .*one exists"):
        write_new(str(place), FILES)
    assert place.lstat() == before
    assert not (tmp_path / "nowhere").exists()


def test_a_failed_write_leaves_no_files(tmp_path: Path) -> None:
    too_long = "x" * 300
    with pytest.raises(LibraryUnwritable, match=r"cannot be written: File name too long; nothing was changed"):
        write_new(str(tmp_path / "one"), {**FILES, too_long: b""})
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_a_directory_is_reported(tmp_path: Path) -> None:
    (tmp_path / "skills").write_text("a file")
    with pytest.raises(SkillHubError, match=r"NAME is taken|cannot be written") as failed:
        write_new(os.path.join(tmp_path, "skills", "one"), FILES)
    assert str(tmp_path / "skills") in failed.value.message
