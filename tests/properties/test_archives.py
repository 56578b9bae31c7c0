"""An archive or a tree is unpacked as others read it or refused, and nothing is written beside its place."""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.library.archives.archives import (
    TarEntry,
    ZipEntry,
    pax,
    tar_bytes,
    write_files,
    zip_bytes,
)

from skillhub_mcp.errors import ArchiveRefused
from skillhub_mcp.library.archives import ArchiveTree
from skillhub_mcp.library.sources.directory_tree import DirectoryTree
from skillhub_mcp.library.unpack import unpack_skill

pytestmark = pytest.mark.slow

SECRET = b"this-is-not-yours"
LETTERS = st.sampled_from(["a", "B", "b", "-", ".", " ", "\u00e9", "\u30b3", "SKILL.md", "con", ".git", "x" * 60])
NAMES = st.lists(LETTERS, min_size=1, max_size=4).map("".join)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
PIECES = st.sampled_from(
    ["..", ".", "", "/", "a", "A", "b", "SKILL.md", "C:", "\\", "NUL", "~", "\u00e9", "e\u0301", "x:y"]
)
NASTY = st.lists(PIECES, min_size=1, max_size=4).map("/".join)


@contextmanager
def places() -> Iterator[tuple[Path, Path]]:
    """Yield a directory whose neighbours hold SECRET, and one to unpack to; nothing beside it may be new afterwards."""
    with TemporaryDirectory() as scratch:
        top = Path(scratch)
        write_files(top, {"secret.md": SECRET, "outside/secret.md": SECRET, "root/beside/SKILL.md": SECRET})
        (top / "root" / "new").mkdir()
        (top / "source").mkdir()
        yield top / "source", top / "root" / "new"
        found = {path.relative_to(top).as_posix() for path in top.rglob("*")}
        beside = {path for path in found if not path.startswith(("root/new/", "source/"))}
        neighbours = {"secret.md", "outside", "outside/secret.md", "root", "root/beside", "root/beside/SKILL.md"}
        assert beside == neighbours | {"root/new", "source"}
        for path in neighbours:
            assert (top / path).is_dir() or (top / path).read_bytes() == SECRET


def written(destination: Path) -> dict[str, bytes]:
    assert not any(path.is_symlink() for path in destination.rglob("*"))
    return {
        path.relative_to(destination).as_posix(): path.read_bytes() for path in destination.rglob("*") if path.is_file()
    }


def archive_of(entries: list[tuple[str, bytes, str]], form: str) -> bytes:
    """Return an archive with names and kinds as they come."""
    if form == "zip":
        modes = {"file": 0o100644, "link": 0o120777, "directory": 0o040755, "none": 0}
        return zip_bytes(*(ZipEntry(name.encode(), content, mode=modes[kind]) for name, content, kind in entries))
    kinds = {"file": b"0", "link": b"2", "directory": b"5", "none": b"\0"}
    packed = []
    for name, content, kind in entries:
        raw = name.encode()
        if kind == "none":
            packed.append(pax((b"path", raw)))
        packed.append(TarEntry(raw[:99], content, kinds[kind], target=b"../../outside"))
    return tar_bytes(*packed)


ENTRIES = st.lists(
    st.tuples(
        NASTY | PATHS,
        st.sampled_from([b"", b"x", SECRET[::-1]]),
        st.sampled_from(["file", "none", "link", "directory"]),
    ),
    min_size=1,
    max_size=4,
)
DAMAGES = st.lists(
    st.tuples(st.sampled_from(["flip", "cut", "insert", "repeat"]), st.integers(0, 3_000), st.integers(1, 255)),
    max_size=3,
)


def damaged(packed: bytes, damages: list[tuple[str, int, int]]) -> bytes:
    for how, where, what in damages:
        at = where % (len(packed) + 1)
        if how == "flip" and at < len(packed):
            packed = packed[:at] + bytes([packed[at] ^ what]) + packed[at + 1 :]
        elif how == "cut":
            packed = packed[:at] + packed[at + what :]
        elif how == "insert":
            packed = packed[:at] + bytes([what]) * what + packed[at:]
        elif how == "repeat":
            packed = packed[:at] + packed[at : at + what] + packed[at:]
    return packed


def as_python_reads(packed: Path) -> dict[str, bytes]:
    """Return the files as the standard library reads them, which knows other rules."""
    if zipfile.is_zipfile(packed):
        with zipfile.ZipFile(packed) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            files = [entry for entry in entries if not stat.S_ISLNK(entry.external_attr >> 16)]
            return {_utf_8(entry): archive.read(entry) for entry in files}
    with tarfile.open(packed) as tar:
        return {entry.name: content.read() for entry in tar if entry.isfile() and (content := tar.extractfile(entry))}


def _utf_8(entry: zipfile.ZipInfo) -> str:
    """Return a name as macOS packs it and reads it: in UTF-8 also where nothing says so."""
    return entry.filename if entry.flag_bits & 0x800 else entry.filename.encode("cp437").decode()


@given(entries=ENTRIES, form=st.sampled_from(["zip", "tar"]), damages=DAMAGES)
@example(entries=[("../x", b"x", "file")], form="zip", damages=[])
@example(entries=[("a", b"", "link"), ("a/secret.md", b"x", "file")], form="tar", damages=[])
@settings(max_examples=100)
def test_any_archive_is_unpacked_as_python_reads_it_or_refused(
    entries: list[tuple[str, bytes, str]], form: str, damages: list[tuple[str, int, int]]
) -> None:
    with places() as (source, destination):
        packed = source / "packed"
        packed.write_bytes(damaged(archive_of(entries, form), damages))
        try:
            with closing(ArchiveTree(str(packed), "packed")) as tree:
                unpack_skill(tree, "", str(destination))
        except ArchiveRefused:
            assert written(destination) == {}
            return
        assert written(destination) == {
            name.removeprefix("./"): content for name, content in as_python_reads(packed).items()
        }


TARGETS = st.lists(
    st.sampled_from(["..", ".", "a", "b", "l", "m", "SKILL.md", "outside", "source"]), min_size=1, max_size=5
).filter(lambda parts: "SKILL.md" not in parts[:-1])
LINKS = st.dictionaries(st.sampled_from(["l", "m", "a/l", "a/m", "b/l", "a/b/l"]), TARGETS.map("/".join), max_size=4)


@given(links=LINKS)
@example(links={"l": "a", "a/l": "../b", "b/l": "../a"})
@settings(max_examples=50)
def test_links_become_copies_or_are_reported(links: dict[str, str]) -> None:
    files = {"SKILL.md": b"skill", "a/SKILL.md": b"in a", "a/b/x.md": b"in a b", "b/y.md": b"in b"}
    with places() as (source, destination):
        write_files(source, files)
        for path, target in links.items():
            (source / path).symlink_to(target)
        with closing(DirectoryTree(str(source))) as tree:
            try:
                left_out = unpack_skill(tree, "", str(destination)).notes
            except ArchiveRefused:
                assert written(destination) == {}
                return
        copies = written(destination)
        assert {path: copies[path] for path in files} == files
        for path, content in copies.items():
            assert content == (source / path).read_bytes()
            assert os.path.realpath(source / path).startswith(os.path.realpath(source) + os.sep)
        for link in links:
            is_copied = any(path == link or path.startswith(f"{link}/") for path in copies)
            assert is_copied or any(f"{link!r} is a link" in note for note in left_out)
