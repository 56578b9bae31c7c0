"""The digests of files, and comparing them with the lock."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from skillhub_mcp.locks.file_digests import (
    Differences,
    FileDigest,
    computed_hash,
    content_digest,
    differences,
    digest_of,
    digests_of,
    npx_order,
    states_of,
)
from skillhub_mcp.locks.lock_file import LockedByHub


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.mark.skipif(os.name == "nt", reason="links need rights there, and there is no FIFO")
def test_links_and_special_files_have_digests_that_no_file_has(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / ".b").write_bytes(b"1")
    (tmp_path / "run").write_bytes(b"22")
    (tmp_path / "run").chmod(0o755)
    (tmp_path / "link").symlink_to("run")
    (tmp_path / "a" / "up").symlink_to("..")
    os.mkfifo(tmp_path / "pipe")
    files = digests_of(str(tmp_path))
    assert files == {
        "a/.b": FileDigest(sha256(b"1"), 1, False),
        "run": FileDigest(sha256(b"22"), 2, True),
        "link": FileDigest(f"link {sha256(b'run')}", 0, False),
        "a/up": FileDigest(f"link {sha256(b'..')}", 0, False),
        "pipe": FileDigest("special", 0, False),
    }
    assert states_of(str(tmp_path)).keys() == files.keys()


def test_directories_nested_too_deeply_are_refused(tmp_path: Path, make_deep: Callable[[Path], None]) -> None:
    make_deep(tmp_path)
    for look in (digests_of, computed_hash):
        with pytest.raises(OSError, match="more than 128 directories deep"):
            look(str(tmp_path))


def test_the_content_digest_hashes_sorted_paths_and_file_digests() -> None:
    script, skill = sha256(b"print()\n"), sha256(b"# A\n")
    files = {"b/x.py": script, "SKILL.md": skill}
    lines = f"SKILL.md\0{skill}\nb/x.py\0{script}\n"
    assert content_digest(files) == "sha256:" + sha256(lines.encode())


def test_paths_are_sorted_by_bytes() -> None:
    files = {"a/z": sha256(b"1"), "a-b": sha256(b"2"), "B": sha256(b"3"), "\u00e9": sha256(b"4")}
    ordered = ["B", "a-b", "a/z", "\u00e9"]
    lines = "".join(f"{path}\0{files[path]}\n" for path in ordered)
    assert content_digest(files) == "sha256:" + sha256(lines.encode())


def test_the_border_between_path_and_content_counts() -> None:
    assert content_digest({"ab": sha256(b"c")}) != content_digest({"a": sha256(b"bc")})


@pytest.mark.parametrize(
    ("files", "digest"),
    [
        ({}, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ({"SKILL.md": b""}, "2c9f8338ee0de51a975e8c1ee8a7ecf1d909bfbb1d4205b3f4fdb1da43f568de"),
        (
            {"SKILL.md": b"# A\n", "scripts/run.sh": b"echo\n", ".env": b"X=1\n"},
            "9bcfa74943878204829fa0eacc3e7e2eac6f40771c45f0fb8d35687a487ef658",
        ),
        (
            {"a/b": b"1", "a-b": b"2", "a.b": b"3", "A": b"4", "\u00e9": b"5", "\U0001f600": b"6"},
            "14298ebb9da58111c471a5f6b4b2a0fb45fcc9a94a6b522fab695ea1b8171ded",
        ),
    ],
)
def test_content_digests_are_stable(files: dict[str, bytes], digest: str) -> None:
    assert content_digest({path: sha256(content) for path, content in files.items()}) == f"sha256:{digest}"


FILES = {"SKILL.md": FileDigest("a" * 64, 1, False), "run": FileDigest("b" * 64, 2, True)}
LOCKED = LockedByHub(digest_of(FILES), executable=("run",))


def test_changed_content_is_a_difference_without_a_path() -> None:
    assert not differences(LOCKED, FILES)
    found = differences(LOCKED, {"SKILL.md": FileDigest("e" * 64, 1, False)})
    assert (found, found.first) == (Differences(files_differ=True), "")


def test_a_changed_executable_bit_is_a_difference_where_modes_exist() -> None:
    files = {**FILES, "run": FileDigest("b" * 64, 2, False)}
    assert differences(LOCKED, files) == Differences(modes=("run",))
    assert not differences(LOCKED, files, modes=False)


def test_line_ends_are_compared_for_the_given_files_only(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_bytes(b"# A\r\n")
    files = digests_of(str(tmp_path))
    (tmp_path / "run.pyc").write_bytes(b"1")
    locked = LockedByHub(content_digest({"SKILL.md": sha256(b"# A\n")}))
    assert differences(locked, files, str(tmp_path)) == Differences(line_ends=True)
    assert differences(locked, files).files_differ


def test_the_computed_hash_equals_that_of_npx_skills(tmp_path: Path) -> None:
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


def test_paths_are_in_the_collation_order_of_node() -> None:
    # As Node 22's localeCompare sorts them.
    order = ["_a", "-a", ".a", "a", "A", "a b", "a_b", "a-b", "a.b", "a/b", "a1", "ab", "aB", "AB", "b", "Z"]
    assert npx_order(sorted(order)) == tuple(order)


@pytest.mark.parametrize("path", ["\u00e9.md", "a\x01b"])
def test_paths_with_an_unknown_order_have_none(path: str) -> None:
    assert npx_order(["a", path]) is None


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_files_behind_links_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    before = computed_hash(str(tmp_path))
    (tmp_path / "b").symlink_to("a")
    assert computed_hash(str(tmp_path)) == before


def test_a_skill_with_a_path_of_unknown_order_has_no_computed_hash(tmp_path: Path) -> None:
    (tmp_path / "\u00e9").write_text("1")
    assert computed_hash(str(tmp_path)) is None
