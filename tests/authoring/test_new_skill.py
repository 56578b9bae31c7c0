"""Writing the files of a new skill into a directory of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillhub_mcp.authoring.files import write_new
from skillhub_mcp.errors import InvalidArgument, LibraryUnwritable, SkillHubError

FILES = {"SKILL.md": b"one", "scripts/run.py": b"two"}


def test_a_skill_is_written_with_the_directories_above_it(tmp_path: Path) -> None:
    write_new(str(tmp_path / "deep" / "er" / "one"), FILES)
    assert (tmp_path / "deep" / "er" / "one" / "scripts" / "run.py").read_bytes() == b"two"


@pytest.mark.parametrize("kind", ["directory", "file", "dangling link"])
def test_what_exists_is_left_as_it_is(tmp_path: Path, kind: str) -> None:
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


def test_a_skill_that_cannot_be_written_whole_leaves_nothing(tmp_path: Path) -> None:
    too_long = "x" * 300
    with pytest.raises(LibraryUnwritable, match=r"cannot be written: File name too long; nothing was changed"):
        write_new(str(tmp_path / "one"), {**FILES, too_long: b""})
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "skills").write_text("a file")
    with pytest.raises(SkillHubError, match=r"NAME is taken|cannot be written") as failed:
        write_new(os.path.join(tmp_path, "skills", "one"), FILES)
    assert str(tmp_path / "skills") in failed.value.message
