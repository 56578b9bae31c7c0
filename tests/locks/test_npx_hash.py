"""The hash that npx skills puts into a lock."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillhub_mcp.locks.file_digests import computed_hash, npx_order


def test_a_skill_has_the_hash_that_npx_skills_wrote_for_it(tmp_path: Path) -> None:
    files = {
        "SKILL.md": "---\nname: pdf\ndescription: Reads PDFs\n---\nDo.\n",
        "scripts/Run.py": "print(1)\n",
        ".hidden": "1\n",
        "node_modules/x.js": "left out",
        ".git/HEAD": "left out",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    # Written by npx skills 1.7.4 on Node 22.23.
    assert computed_hash(str(tmp_path)) == "82f19d39a11cbba2d538155feb8995d609f2b62db277f059865939fa38b4d30b"


def test_paths_are_in_the_order_of_their_collation() -> None:
    # As Node 22's localeCompare sorts them.
    order = ["_a", "-a", ".a", "a", "A", "a b", "a_b", "a-b", "a.b", "a/b", "a1", "ab", "aB", "AB", "b", "Z"]
    assert npx_order(sorted(order)) == tuple(order)


@pytest.mark.parametrize("path", ["\u00e9.md", "a\x01b"])
def test_the_order_of_other_names_is_not_guessed(path: str) -> None:
    assert npx_order(["a", path]) is None


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_files_behind_links_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    before = computed_hash(str(tmp_path))
    (tmp_path / "b").symlink_to("a")
    assert computed_hash(str(tmp_path)) == before


def test_a_skill_with_a_name_whose_place_is_not_known_has_no_hash(tmp_path: Path) -> None:
    (tmp_path / "\u00e9").write_text("1")
    assert computed_hash(str(tmp_path)) is None
