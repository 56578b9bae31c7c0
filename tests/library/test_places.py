"""SkillHub's state directories in a root, created by two commands at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillhub_mcp.errors import LibraryUnwritable
from skillhub_mcp.library.places import places_of


def test_directories_created_by_a_concurrent_command_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mkdir = os.mkdir

    def just_behind_another(path: str, mode: int = 0o777) -> None:
        mkdir(path, mode)
        if os.path.basename(os.path.dirname(path)) == ".skillhub" or path.endswith(".skillhub"):
            (tmp_path / "root" / ".skillhub" / ".gitignore").write_bytes(b"*\n")
            mkdir(path, mode)

    monkeypatch.setattr(os, "mkdir", just_behind_another)
    places = places_of(str(tmp_path / "root"))
    places.make()
    assert sorted(os.listdir(places.top)) == [".gitignore", "lock", "staging", "trash"]
    places.make()


def test_a_link_that_replaces_a_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mkdir = os.mkdir

    def behind_a_link(path: str, mode: int = 0o777) -> None:
        if path.endswith("staging"):
            os.symlink(tmp_path, path)
        mkdir(path, mode)

    monkeypatch.setattr(os, "mkdir", behind_a_link)
    with pytest.raises(LibraryUnwritable, match="it is not a directory"):
        places_of(str(tmp_path / "root")).make()
