"""`skillhub bundle`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub

from skillhub_mcp.version import version


@pytest.mark.slow
def test_the_command_writes_the_bundle_and_says_where(skillhub: Skillhub, tmp_path: Path) -> None:
    done = skillhub("bundle", tmp_path)
    written = tmp_path / f"skillhub-{version()}.mcpb"
    assert (done.code, done.out) == (0, f"{written}\n")
    assert "Install Extension" in done.err
    again = skillhub("bundle", tmp_path / "other.mcpb", "--json").json
    assert again["sha256"] == hashlib.sha256(written.read_bytes()).hexdigest()
    assert (again["file"], again["version"]) == (str(tmp_path / "other.mcpb"), version())


def test_a_file_that_is_no_bundle_is_not_overwritten(skillhub: Skillhub, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("mine", encoding="utf-8")
    done = skillhub("bundle", notes)
    assert (done.code, notes.read_text(encoding="utf-8")) == (2, "mine")
    assert "does not end with .mcpb" in done.err


@pytest.mark.slow
def test_a_place_that_cannot_be_written_is_named(skillhub: Skillhub, tmp_path: Path) -> None:
    done = skillhub("bundle", tmp_path / "missing" / "x.mcpb")
    assert done.code == 2
    assert f"'{tmp_path / 'missing' / 'x.mcpb'}' cannot be written" in done.err


@pytest.mark.slow
def test_a_bundle_that_does_not_fit_is_a_failure_and_no_wrong_usage(
    no_larger_files: Callable[[int], Skillhub], tmp_path: Path
) -> None:
    done = no_larger_files(1_000)("bundle", tmp_path / "x.mcpb", "--json")
    assert (done.code, done.error["code"], done.error["path"]) == (1, "OUTPUT_UNWRITABLE", str(tmp_path / "x.mcpb"))
    assert not list(tmp_path.glob("x.mcpb*"))
