"""Roots: in order, each real directory once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillhub_mcp.skills.roots import SkillRoot, make_roots


def test_roots_keep_their_order_and_what_was_written() -> None:
    assert make_roots(["/b/x", "/a"]) == (SkillRoot("/b/x", "/b/x"), SkillRoot("/a", "/a"))


def test_one_real_directory_is_one_root_under_its_first_name(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    given = [str(tmp_path / "link"), str(tmp_path / "real"), f"{tmp_path}/real/../real/"]
    assert make_roots(given) == (SkillRoot(os.path.realpath(tmp_path / "real"), given[0]),)


def test_the_home_directory_and_relative_paths_are_resolved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    real = os.path.realpath(tmp_path)
    assert make_roots(["~/skills", "./.agent/skills"]) == (
        SkillRoot(f"{real}/skills", "~/skills"),
        SkillRoot(f"{real}/.agent/skills", "./.agent/skills"),
    )
