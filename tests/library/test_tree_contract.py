"""The common behaviour of source trees: directories, zips, tars and commits."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.library.archives.archives import SKILL, pack_tar, pack_zip, write_files
from tests.library.sources.repositories import ENVIRONMENT, Executable, Repository

from skillhub_mcp.errors import SourceUnreachable
from skillhub_mcp.library.archives import ArchiveTree
from skillhub_mcp.library.sources.directory_tree import DirectoryTree
from skillhub_mcp.library.sources.git import GitOptions
from skillhub_mcp.library.sources.git_tree import open_git
from skillhub_mcp.library.sources.source import parse_source
from skillhub_mcp.library.tree import Tree, TreeEntry, TreeEntryKind
from skillhub_mcp.library.unpack import unpack_skill
from skillhub_mcp.locks.file_digests import content_digest

FILES = {
    "skills/pdf/SKILL.md": SKILL,
    "skills/pdf/scripts/run.sh": b"echo run\n",
    "skills/pdf/.hidden": b"",
    "skills/pdf/assets/long.bin": bytes(range(256)) * 1_000,
    "skills/pdf/na\u00efve name.md": "\u00e9\n".encode(),
    "skills/pdf-2/SKILL.md": b"another\n",
    "skills.md": b"beside\n",
}
EXECUTABLE = ("skills/pdf/scripts/run.sh",)

MakeTree = Callable[[Path], Tree]


def directory(scratch: Path) -> Tree:
    return DirectoryTree(str(write_files(scratch / "source", FILES, executable=EXECUTABLE)))


def zipped(scratch: Path) -> Tree:
    (scratch / "source").write_bytes(pack_zip(FILES, executable=EXECUTABLE))
    return ArchiveTree(str(scratch / "source"), "pdf.zip")


def tarred(mode: str) -> MakeTree:
    def make(scratch: Path) -> Tree:
        (scratch / "source").write_bytes(pack_tar(FILES, executable=EXECUTABLE, mode=mode))
        return ArchiveTree(str(scratch / "source"), "pdf.tar")

    return make


def committed(scratch: Path) -> Tree:
    repository = Repository(scratch / "source.git")
    repository.commit(
        {path: Executable(content.decode()) if path in EXECUTABLE else content for path, content in FILES.items()}
    )
    return open_git(parse_source(repository.url), GitOptions(ENVIRONMENT, 60.0))


TREES: dict[str, MakeTree] = {
    "directory": directory,
    "zip": zipped,
    "tar": tarred("w"),
    "tar.gz": tarred("w:gz"),
    "git": committed,
}


@pytest.fixture(params=TREES)
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tree]:
    made = TREES[request.param](tmp_path)
    yield made
    made.close()


def test_entries_are_all_files_in_byte_order_of_their_paths(tree: Tree) -> None:
    expected = [
        TreeEntry(path, TreeEntryKind.FILE, len(FILES[path]), path in EXECUTABLE)
        for path in sorted(FILES, key=str.encode)
    ]
    assert list(tree.entries) == expected


def test_files_can_be_read_repeatedly_and_interleaved(tree: Tree) -> None:
    first, second = tree.read("skills/pdf/assets/long.bin"), tree.read("skills/pdf/SKILL.md")
    beginning = next(first)
    assert b"".join(second) == SKILL
    assert beginning + b"".join(first) == FILES["skills/pdf/assets/long.bin"]
    for path, content in FILES.items():
        assert b"".join(tree.read(path)) == content


@pytest.mark.parametrize("path", ["skills/missing.md", "skills/pdf", "", "../source", "skills/pdf/../../skills.md"])
def test_a_missing_file_cannot_be_read(tree: Tree, path: str) -> None:
    with pytest.raises(SourceUnreachable):
        list(tree.read(path))


def test_a_skill_is_unpacked_with_the_same_digest(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    unpacked = unpack_skill(tree, "skills/pdf", str(tmp_path / "new"))
    below = {path.removeprefix("skills/pdf/"): content for path, content in FILES.items() if "/pdf/" in path}
    assert content_digest({path: file.digest for path, file in unpacked.files.items()}) == content_digest(
        {path: hashlib.sha256(content).hexdigest() for path, content in below.items()}
    )
    written = {
        str(path.relative_to(tmp_path / "new")): path.read_bytes()
        for path in (tmp_path / "new").rglob("*")
        if path.is_file()
    }
    assert written == below
    modes = {path: (tmp_path / "new" / path).stat().st_mode & 0o7777 for path in below}
    assert {path for path, mode in modes.items() if mode & 0o111} == {"scripts/run.sh"}
    assert not any(mode & 0o7022 for mode in modes.values())
    assert {path for path, file in unpacked.files.items() if file.executable} == {"scripts/run.sh"}
    assert {path: file.size for path, file in unpacked.files.items()} == {path: len(c) for path, c in below.items()}


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
@pytest.mark.parametrize("kind", TREES)
def test_a_closed_tree_leaves_no_file_open(kind: str, tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    tree = TREES[kind](tmp_path)
    assert b"".join(tree.read("skills/pdf/SKILL.md")) == SKILL
    tree.close()
    tree.close()
    assert len(os.listdir("/proc/self/fd")) == before
