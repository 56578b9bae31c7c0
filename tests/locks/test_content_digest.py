"""The digest of a skill's files."""

from __future__ import annotations

import hashlib

from skillhub_mcp.locks.content_digest import content_digest


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
