"""SkillHub's own directories in a root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillhub_mcp.errors import LibraryUnwritable
from skillhub_mcp.library.places import places_of


def test_a_link_that_replaces_a_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mkdir = os.mkdir

    def behind_a_link(path: str, mode: int = 0o777) -> None:
        if path.endswith("staging"):
            os.symlink(tmp_path, path)
        mkdir(path, mode)

    monkeypatch.setattr(os, "mkdir", behind_a_link)
    with pytest.raises(LibraryUnwritable, match="it is not a directory"):
        places_of(str(tmp_path / "root")).make()
