"""Temporary directories are private, and are removed at the end."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from skillhub_mcp._util.tempdir import scratch_directory


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's directory for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_temporary_directory_is_private_and_removed_with_its_content(temporary: Path) -> None:
    with scratch_directory("look") as place:
        assert os.listdir(place) == []
        assert Path(place).parent == temporary
        if os.name != "nt":
            assert Path(place).stat().st_mode & 0o777 == 0o700
        (Path(place) / "pack").write_text("1")
        (Path(place) / "pack").chmod(0o400)
        if os.name != "nt":
            (Path(place) / "closed").mkdir()
            (Path(place) / "closed" / "file").touch()
            (Path(place) / "closed").chmod(0o500)
            Path(place).chmod(0)
    assert os.listdir(temporary) == []


def test_a_temporary_directory_is_removed_after_an_error(temporary: Path) -> None:
    with pytest.raises(KeyboardInterrupt), scratch_directory("look"):
        raise KeyboardInterrupt
    assert os.listdir(temporary) == []


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_the_target_of_a_link_is_not_removed(temporary: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "kept").write_text("mine")
    with scratch_directory("look") as place:
        (Path(place) / "link").symlink_to(outside)
    assert (outside / "kept").read_text() == "mine"
    assert os.listdir(temporary) == []
