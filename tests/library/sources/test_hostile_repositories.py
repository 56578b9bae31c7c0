"""Repositories with trees that git never writes: hostile skills are refused, their neighbours installed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.library.archives.archives import SKILL
from tests.library.sources.repositories import ENVIRONMENT, Repository

from skillhub_mcp.errors import ArchiveRefused
from skillhub_mcp.library.sources.git import GitOptions
from skillhub_mcp.library.sources.git_tree import open_git
from skillhub_mcp.library.sources.source import parse_source
from skillhub_mcp.library.tree import Tree
from skillhub_mcp.library.unpack import unpack_skill

FILE, RUN, LINK, SUBMODULE, DIRECTORY = b"100644", b"100755", b"120000", b"160000", b"40000"

# Entries beside SKILL.md: mode, name, and content or target.
Entries = Sequence[tuple[bytes, bytes, bytes]]

# What only a repository can hold; `test_skill_files` has the other paths.
HOSTILE: dict[str, tuple[Entries, str]] = {
    "up": ([(FILE, b"..", b"x")], "'..'"),
    "git-by-case": ([(FILE, b".GiT", b"x")], "git's own"),
    "bytes": ([(FILE, b"\xff", b"x")], "surrogate"),
    "twice": ([(FILE, b"SKILL.md", b"another")], "twice"),
    "link-and-file": ([(FILE, b"l", b"x"), (LINK, b"l", b"../good")], "which is a file"),
}
# Entries that are left out of an installed skill.
LEFT_OUT: dict[str, tuple[Entries, str]] = {
    "git": ([(FILE, b".git", b"gitdir: elsewhere")], "does not belong to a skill"),
    "submodule": ([(SUBMODULE, b"lib", b"")], "submodule"),
    "leaving": ([(LINK, b"l", b"../../SKILL.md")], "out of the source"),
    "absolute": ([(LINK, b"l", b"/scratch/secret")], "out of the source"),
    "by-two": ([(LINK, b"l", b"m/SKILL.md"), (LINK, b"m", b"../../good")], "to nothing"),
    "nowhere": ([(LINK, b"l", b"missing")], "to nothing"),
    "long": ([(LINK, b"l", b"x" * 5_000)], "to nothing"),
    "circle": ([(LINK, b"l", b"m"), (LINK, b"m", b"l")], "in circles"),
}


def write(repository: Repository, kind: str, content: bytes) -> bytes:
    """Write an object that git refuses, and return the bytes of its id."""
    arguments = ("hash-object", "-w", "-t", kind, "--literally", "--stdin")
    return bytes.fromhex(repository.git(*arguments, stdin=content))


def tree(entries: Entries) -> bytes:
    return b"".join(mode + b" " + name + b"\0" + object_id for mode, name, object_id in entries)


@pytest.fixture(scope="module")
def fetched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tree]:
    repository = Repository(tmp_path_factory.mktemp("upstream") / "hostile.git")
    contents = {SKILL} | {content for entries, _ in (HOSTILE | LEFT_OUT).values() for _, _, content in entries}
    blobs = {content: write(repository, "blob", content) for content in contents}
    skills: list[tuple[bytes, bytes, bytes]] = []
    good: Entries = [(LINK, b"README.md", b"SKILL.md"), (RUN, b"run", b"x")]
    blobs[b"SKILL.md"] = write(repository, "blob", b"SKILL.md")
    rows = {name: entries for name, (entries, _) in (HOSTILE | LEFT_OUT).items()}
    for name, entries in {"good": good, **rows}.items():
        inner = [(mode, path, b"\1" * 20 if mode == SUBMODULE else blobs[content]) for mode, path, content in entries]
        below = sorted([(FILE, b"SKILL.md", blobs[SKILL]), *inner], key=lambda entry: entry[1])
        skills.append((DIRECTORY, name.encode(), write(repository, "tree", tree(below))))
    top = write(repository, "tree", tree(sorted(skills, key=lambda entry: entry[1] + b"/")))
    commit = repository.git("commit-tree", "-m", "hostile", top.hex())
    repository.git("update-ref", "refs/heads/main", commit)
    opened = open_git(parse_source(repository.url), GitOptions(ENVIRONMENT, 60.0))
    yield opened
    opened.close()


@pytest.mark.parametrize("skill", HOSTILE)
def test_a_hostile_skill_in_a_repository_is_refused_and_not_written(skill: str, fetched: Tree, tmp_path: Path) -> None:
    (tmp_path / "root" / "new").mkdir(parents=True)
    with pytest.raises(ArchiveRefused) as refused:
        unpack_skill(fetched, skill, str(tmp_path / "root" / "new"))
    assert HOSTILE[skill][1] in refused.value.message
    assert refused.value.facts["entry"].startswith(f"{skill}/")
    assert [path.name for path in tmp_path.rglob("*")] == ["root", "new"]


@pytest.mark.parametrize("skill", LEFT_OUT)
def test_links_out_of_a_repository_are_left_out_and_named(skill: str, fetched: Tree, tmp_path: Path) -> None:
    unpacked = unpack_skill(fetched, skill, str(tmp_path))
    assert [path.name for path in tmp_path.rglob("*")] == ["SKILL.md"]
    assert LEFT_OUT[skill][1] in unpacked.notes[0]


def test_a_skill_beside_hostile_ones_is_installed(fetched: Tree, tmp_path: Path) -> None:
    unpacked = unpack_skill(fetched, "good", str(tmp_path))
    assert {path: file.digest for path, file in unpacked.files.items()} == {
        "README.md": hashlib.sha256(SKILL).hexdigest(),
        "SKILL.md": hashlib.sha256(SKILL).hexdigest(),
        "run": hashlib.sha256(b"x").hexdigest(),
    }
    assert not (tmp_path / "README.md").is_symlink()
    assert os.access(tmp_path / "run", os.X_OK)
