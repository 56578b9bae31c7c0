"""The digest of a skill's files."""

from __future__ import annotations

import hashlib

import pytest

from skillhub_mcp.locks.file_digests import content_digest


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_it_is_the_sha_256_of_the_sorted_paths_and_digests_of_the_files() -> None:
    script, skill = sha256(b"print()\n"), sha256(b"# A\n")
    files = {"b/x.py": script, "SKILL.md": skill}
    lines = f"SKILL.md\0{skill}\nb/x.py\0{script}\n"
    assert content_digest(files) == "sha256:" + sha256(lines.encode())


def test_paths_are_sorted_by_their_bytes_and_not_by_their_letters() -> None:
    files = {"a/z": sha256(b"1"), "a-b": sha256(b"2"), "B": sha256(b"3"), "\u00e9": sha256(b"4")}
    ordered = ["B", "a-b", "a/z", "\u00e9"]
    lines = "".join(f"{path}\0{files[path]}\n" for path in ordered)
    assert content_digest(files) == "sha256:" + sha256(lines.encode())


def test_two_trees_whose_paths_and_contents_run_together_differ() -> None:
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
def test_the_digests_of_these_files_never_change(files: dict[str, bytes], digest: str) -> None:
    assert content_digest({path: sha256(content) for path, content in files.items()}) == f"sha256:{digest}"
