"""Unpacking one skill: modes, notes, and no files left after a failure."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.library.archives.archives import SKILL, TarEntry, tar_bytes, write_files

from skillhub_mcp.errors import ArchiveRefused, LibraryUnwritable
from skillhub_mcp.library.archives import ArchiveTree
from skillhub_mcp.library.sources.directory_tree import DirectoryTree
from skillhub_mcp.library.tree import Bounds, Tree
from skillhub_mcp.library.unpack import unpack_skill


@pytest.fixture
def new(tmp_path: Path) -> Path:
    (tmp_path / "new").mkdir()
    return tmp_path / "new"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_owners_are_dropped_and_executable_bits_kept(umask: int, tmp_path: Path, new: Path) -> None:
    packed = tmp_path / "x.tar"
    modes = {b"a/set-user": b"0006755\0", b"a/all": b"0000777\0", b"a/plain": b"0000666\0", b"a/none": b"0000000\0"}
    packed.write_bytes(tar_bytes(*(TarEntry(name, b"x", mode=mode) for name, mode in modes.items())))
    before = os.umask(umask)
    try:
        with closing(ArchiveTree(str(packed), "x.tar")) as tree:
            unpack_skill(tree, "", str(new))
    finally:
        os.umask(before)
    found = {path.name: path.stat().st_mode & 0o7777 for path in new.rglob("*")}
    whole = {"a": 0o755, "set-user": 0o755, "all": 0o755, "plain": 0o644, "none": 0o644}
    assert found == {name: mode & ~umask for name, mode in whole.items()}


def test_git_lfs_pointers_are_unpacked_and_reported(tmp_path: Path, new: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9000000\n"
    source = write_files(tmp_path / "source", {"SKILL.md": SKILL, "assets/model.bin": pointer})
    with closing(DirectoryTree(str(source))) as tree:
        (note,) = unpack_skill(tree, "", str(new)).notes
    assert note == "'assets/model.bin' is a pointer of Git LFS: what it stands for is kept elsewhere"
    assert (new / "assets" / "model.bin").read_bytes() == pointer


def test_limits_apply_while_bytes_arrive_and_count_links_as_copies(tmp_path: Path, new: Path) -> None:
    source = write_files(tmp_path / "source", {"a/one.md": b"12345", "SKILL.md": b"1"})
    (source / "two.md").symlink_to("a/one.md")
    with closing(DirectoryTree(str(source))) as tree:
        with pytest.raises(ArchiveRefused, match=r"'two\.md' makes the skill too large: it has at most 10 bytes"):
            unpack_skill(tree, "", str(new), Bounds(skill_bytes=10))
        assert len(unpack_skill(tree, "", str(new), Bounds(skill_bytes=11)).files) == 3
    assert not (new / "two.md").is_symlink()


class LyingTree(Tree):
    """A tree with endless files that are larger than declared."""

    def __init__(self, tree: DirectoryTree) -> None:
        self.entries = tree.entries
        self.given = 0

    def read(self, path: str) -> Iterator[bytes]:
        """Return endless content."""
        del path
        while True:
            self.given += 1
            yield b"x" * 1_000


def test_a_source_larger_than_declared_is_not_read_on(tmp_path: Path, new: Path) -> None:
    with closing(DirectoryTree(str(write_files(tmp_path / "source", {"a/b/SKILL.md": SKILL})))) as directory:
        tree = LyingTree(directory)
    with pytest.raises(ArchiveRefused, match="at most 4,096 bytes"):
        unpack_skill(tree, "", str(new), Bounds(skill_bytes=4_096))
    assert tree.given == 5
    assert list(new.iterdir()) == []


@pytest.mark.parametrize("cause", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_full_disk_is_reported_and_leaves_nothing(
    cause: int, tmp_path: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_files(tmp_path / "source", {"a/b.md": b"first", "SKILL.md": SKILL, "y/z.md": b"last"})
    mkdir = os.mkdir

    def full(path: str, mode: int = 0o777) -> None:
        if path.endswith("y"):
            raise OSError(cause, os.strerror(cause))
        mkdir(path, mode)

    with closing(DirectoryTree(str(source))) as tree:
        monkeypatch.setattr(os, "mkdir", full)
        with pytest.raises(LibraryUnwritable, match=os.strerror(cause)) as reported:
            unpack_skill(tree, "", str(new))
    assert "another directory for temporary files in TMPDIR" in str(reported.value.hint)
    assert list(new.iterdir()) == []
