"""`skillhub bundle`."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub

from skillhub_mcp.version import version


@pytest.mark.slow
def test_the_command_writes_the_bundle_and_says_where(skillhub: Skillhub, tmp_path: Path) -> None:
    done = skillhub("bundle", tmp_path)
    written = tmp_path / f"skillhub-{version()}.mcpb"
    assert (done.code, done.out) == (0, f"{written}\n")
    assert "Install Extension.\nIts first start" in done.err
    again = skillhub("bundle", tmp_path / "other.mcpb", "--json").json
    assert again["sha256"] == hashlib.sha256(written.read_bytes()).hexdigest()
    assert (again["file"], again["version"]) == (str(tmp_path / "other.mcpb"), version())


def test_a_file_that_is_no_bundle_is_not_overwritten(skillhub: Skillhub, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("mine", encoding="utf-8")
    done = skillhub("bundle", notes)
    assert (done.code, notes.read_text(encoding="utf-8")) == (2, "mine")
    assert "does not end with .mcpb" in done.err
