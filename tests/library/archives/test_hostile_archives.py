"""Archives and trees that try to escape, fill the disk or contradict themselves: each is refused completely.

Every row is built here, byte by byte where no packer writes such a thing, and says which entry is named and what is
said of it. Nothing is left behind: neither below the destination, nor beside it, nor an open file.
"""

from __future__ import annotations

import gzip
import os
import socket
import struct
import zlib
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.library.archives.archives import (
    SKILL,
    TAR_END,
    TarEntry,
    ZipEntry,
    pack_tar,
    pack_zip,
    pax,
    tar_bytes,
    write_files,
    zip_bytes,
)

from skillhub_mcp.errors import ArchiveRefused, SourceUnreachable
from skillhub_mcp.library.archives import ArchiveTree
from skillhub_mcp.library.sources.directory_tree import DirectoryTree
from skillhub_mcp.library.tree import BOUNDS, Bounds
from skillhub_mcp.library.unpack import unpack_skill

MIB = 1024 * 1024


@dataclass(frozen=True)
class Row:
    """An attack: an archive, the entry that is named (none for the whole archive), and words of the reason."""

    why: str
    build: Callable[[], bytes]
    entry: str
    said: str
    bounds: Bounds = BOUNDS


def zipped(*names: bytes) -> Callable[[], bytes]:
    return lambda: zip_bytes(ZipEntry(), *(ZipEntry(name, b"x") for name in names))


def tarred(*names: bytes) -> Callable[[], bytes]:
    return lambda: tar_bytes(TarEntry(), *(TarEntry(name, b"x") for name in names))


def one_zip(entry: ZipEntry) -> Callable[[], bytes]:
    return lambda: zip_bytes(ZipEntry(b"a.md"), entry)


def one_tar(*entries: TarEntry, end: bytes = TAR_END) -> Callable[[], bytes]:
    return lambda: tar_bytes(TarEntry(b"a.md"), *entries, end=end)


# Names that some system reads differently, in a zip and in a tar.
_NAMES = (
    ("one directory up", b"../x", "'..'"),
    ("up from within", b"a/../../x", "'..'"),
    ("absolute", b"/x", "absolute"),
    ("absolute, two slashes", b"//server/x", "absolute"),
    ("home", b"~/x", "home"),
    ("drive", b"C:/x", "drive"),
    ("backslashes", b"..\\x", "backslash"),
    ("UNC", b"\\\\server\\share\\x", "backslash"),
    ("stream", b"x.md:hidden", "stream"),
    ("device", b"a/NUL", "device"),
    ("device with an ending", b"com1.txt", "device"),
    ("ends in a dot", b"SKILL.md.", "ends in a dot"),
    ("line break", b"a\nb", "control character"),
    ("escape character", b"\x1b[2J", "control character"),
    ("git's directory with an invisible character", "a/.g\u200cit/config".encode(), "git's own"),
    ("long name", b"x" * 256, "255 bytes"),
    ("deep", b"d/" * 32 + b"x", "32 names"),
    ("other letter case", b"skill.MD", "one name"),
    ("twice", b"SKILL.md", "twice"),
    ("file and directory", b"SKILL.md/x", "which is a file"),
)


def shown(name: bytes) -> str:
    text = name.decode("utf-8", "backslashreplace")
    return text if len(text) <= 200 else f"{text[:200]}\u2026"


NAMES = [
    Row(f"{kind}: {why}", build(name), shown(name), said)
    for why, name, said in _NAMES
    for kind, build in (("zip", zipped), ("tar", tarred))
    # Tars store a long name in a separate header. Zips without slashes may have backslashes.
    if (kind == "tar" or b"\\" not in name) and (kind == "zip" or len(name) < 100)
]

_DEFLATED = zlib.compressobj(9, zlib.DEFLATED, -15)
_BIG = _DEFLATED.compress(bytes(3 * MIB)) + _DEFLATED.flush()

ZIPS = [
    Row("forms of one letter", zipped("caf\u00e9".encode(), "cafe\u0301".encode()), "cafe\u0301", "one name"),
    Row("widths of one letter", zipped(b"A.md", "\uff21.md".encode()), "\uff21.md", "one name"),
    Row("directories of one name", zipped(b"docs/a", b"Docs/b"), "Docs/b", "one name"),
    Row("no name", zipped(b""), "", "no name"),
    Row("up by backslashes", zipped(b"..\\x"), "../x", "'..'"),
    Row("UNC", zipped(b"\\\\server\\share\\x"), "//server/share/x", "absolute"),
    Row("backslashes and slashes", zipped(b"a/b", b"..\\x"), "..\\x", "backslash"),
    Row("no encoding", zipped(b"\xff.md"), "\\xff.md", "not UTF-8"),
    Row("two encodings", zipped("\u4e2d\u6587.md".encode("gbk")), "\\xd6\\xd0\\xce\\xc4.md", "not UTF-8"),
    Row("NUL", zipped(b"a\0.md"), "a\0.md", "control character"),
    Row("a pipe", one_zip(ZipEntry(b"p", b"", mode=0o010644)), "p", "a device or a pipe"),
    Row("a device", one_zip(ZipEntry(b"d", b"", mode=0o060644)), "d", "a device or a pipe"),
    Row("a directory by its mode", one_zip(ZipEntry(b"d", b"", mode=0o040755)), "d", "a file by the other"),
    Row("a file by its mode", one_zip(ZipEntry(b"d/", b"")), "d/", "a file by the other"),
    Row("encrypted", one_zip(ZipEntry(b"e", flags=1)), "e", "encrypted"),
    Row("encrypted by AES", one_zip(ZipEntry(b"e", method=99)), "e", "number 99"),
    Row("encrypted with its directory", one_zip(ZipEntry(b"e", flags=1 << 13)), "e", "encrypted"),
    Row("a later version", one_zip(ZipEntry(b"e", needed=99)), "", "version 9.9"),
    Row(
        "an unknown method",
        one_zip(ZipEntry(b"e", method=97)),
        "e",
        "method that is not read here (number 97)",
    ),
    Row("another name in its header", one_zip(ZipEntry(own={"name": b"../../x"})), "SKILL.md", "differ"),
    Row("a shorter name in its header", one_zip(ZipEntry(own={"name": b"SKILL"})), "SKILL.md", "differ"),
    Row("a field that is cut off", one_zip(ZipEntry(extra=struct.pack("<2H", 1, 9))), "", "extra field"),
    Row("a size without its field", one_zip(ZipEntry(listed={"unpacked": 0xFFFFFFFF})), "SKILL.md", "200 : 1"),
    Row(
        "entries over each other",
        lambda: zip_bytes(ZipEntry(b"a.md"), ZipEntry(b"b.md", listed={"at": 0})),
        "b.md",
        "differ",
    ),
    Row("an entry elsewhere", one_zip(ZipEntry(listed={"at": 3})), "SKILL.md", "magic number"),
    Row("bytes before the beginning", lambda: b"#!/bin/sh\n" + zip_bytes(ZipEntry()), "", "it is not a zip"),
    Row("an end in the comment", lambda: zip_bytes(ZipEntry(), comment=b"PK\5\6" + bytes(18)), "", "no file"),
    Row("a directory beyond the end", lambda: zip_bytes(ZipEntry(), end={"length": 9_999}), "", "cut off"),
    Row("cut off in the directory", lambda: zip_bytes(ZipEntry())[:-10], "", "cut off"),
    Row("cut off in a file", lambda: zip_bytes(ZipEntry())[:40], "", "cut off"),
    Row("a bomb", one_zip(ZipEntry(b"b", bytes(3 * MIB))), "b", "200 : 1 beyond 1 MiB"),
    Row("a bomb that says it is small", lambda: zip_bytes(ZipEntry(b"b", b"small", packed=_BIG)), "b", "CRC"),
    Row("another checksum", lambda: zip_bytes(ZipEntry(own={"crc": 7}, listed={"crc": 7})), "SKILL.md", "CRC"),
    Row("not packed at all", lambda: zip_bytes(ZipEntry(packed=b"\xff" * 9)), "SKILL.md", "decompressing"),
    Row("packed bytes that end early", lambda: zip_bytes(ZipEntry(packed=b"\x4b")), "SKILL.md", "cut off"),
    Row("packed bytes behind the end", lambda: zip_bytes(ZipEntry(packed=b"\3\0hidden")), "SKILL.md", "CRC"),
    Row("a stored size that is another", one_zip(ZipEntry(method=0, packed=b"x")), "SKILL.md", "CRC"),
    Row(
        "too many entries",
        lambda: pack_zip({str(n): b"" for n in range(9)}),
        "",
        "more than 8",
        Bounds(source_entries=8),
    ),
    Row("too much in all", zipped(b"b", b"c"), "c", "unpacks to", Bounds(source_bytes=len(SKILL) + 1)),
]

TARS = [
    Row("a hard link", one_tar(TarEntry(b"l", b"", b"1", target=b"a.md")), "l", "is a link"),
    Row("a device of characters", one_tar(TarEntry(b"d", b"", b"3")), "d", "is a device"),
    Row("a device of blocks", one_tar(TarEntry(b"d", b"", b"4")), "d", "is a device"),
    Row("a pipe", one_tar(TarEntry(b"p", b"", b"6")), "p", "a device, or of another kind"),
    Row("a sparse file", one_tar(TarEntry(b"s", b"", b"S")), "s", "sparse"),
    Row("an unknown type", one_tar(TarEntry(b"q", b"", b"Q")), "q", "of another kind"),
    Row("up by pax", one_tar(pax((b"path", b"../x")), TarEntry()), "../x", "'..'"),
    Row("NUL by pax", one_tar(pax((b"path", b"x\0y")), TarEntry()), "x\0y", "control character"),
    Row("up by a long name", one_tar(TarEntry(b"L", b"../x\0", b"L"), TarEntry()), "../x", "'..'"),
    Row("up by a prefix", one_tar(TarEntry(b"x", prefix=b"..")), "../x", "'..'"),
    Row("a prefix of an old tar", one_tar(TarEntry(b"x", magic=bytes(8), prefix=b"..")), "../x", "'..'"),
    Row("a prefix of GNU", one_tar(TarEntry(b"x", magic=b"ustar  \0", prefix=b"..")), "../x", "'..'"),
    Row("a pax of no length", one_tar(TarEntry(b"x", b"0 path=x\n", b"x"), TarEntry()), "", "damaged"),
    Row("a long name of a gigabyte", one_tar(TarEntry(b"L", b"", b"L", size=b"7777777777\0\0")), "", "1,048,576 bytes"),
    Row("a long name and no entry", one_tar(TarEntry(b"L", b"x\0", b"L")), "", "cut off"),
    Row("a size below nothing", one_tar(TarEntry(b"n", size=b"\xff" * 12)), "", "damaged"),
    Row("a size of words", one_tar(TarEntry(b"n", size=b"many\0\0\0\0\0\0\0\0")), "", "damaged"),
    Row("a size beyond the end", one_tar(TarEntry(b"n", size=b"\x80" + b"\x7f" * 11)), "n", "too large"),
    Row("a mode of words", one_tar(TarEntry(b"n", mode=b"rwxrwxrw")), "", "damaged"),
    Row("another checksum", one_tar(TarEntry(b"n", checksum=b"000001\0 ")), "", "damaged"),
    Row("a directory with content", one_tar(TarEntry(b"d", b"x", b"5")), "d", "directory with content"),
    Row("a file with a directory's name", one_tar(TarEntry(b"d/", b"x")), "d/", "empty name"),
    Row("no end", one_tar(end=b""), "", "no end"),
    Row("cut off in a file", lambda: tar_bytes(TarEntry(b"n", bytes(2_000)))[:1_024], "n", "cut off"),
    Row("cut off in a header", lambda: tar_bytes(TarEntry(), end=b"x" * 100), "", "damaged"),
    Row("bytes behind the end", one_tar(end=TAR_END + b"hidden"), "", "behind its end"),
    Row("an archive behind the end", one_tar(end=TAR_END + tar_bytes(TarEntry())), "", "behind its end"),
    Row("gzip: cut off", lambda: gzip.compress(tar_bytes(TarEntry()))[:-9], "", "cut off"),
    Row("gzip: another checksum", lambda: gzip.compress(tar_bytes(TarEntry()))[:-8] + bytes(8), "", "damaged"),
    Row("gzip: bytes behind", lambda: gzip.compress(tar_bytes(TarEntry())) + b"hidden", "", "Not a gzipped file"),
    Row("gzip: no tar", lambda: gzip.compress(SKILL), "", "no tar is in it"),
    Row("gzip: a bomb", lambda: gzip.compress(bytes(3 * MIB)), "", "200 : 1 beyond 1 MiB"),
    Row("gzip: gzip", lambda: gzip.compress(gzip.compress(tar_bytes(TarEntry()))), "", "no tar is in it"),
    Row("gzip: too much", lambda: pack_tar({"a": bytes(9_999)}), "", "more than 8,192", Bounds(source_bytes=8_192)),
    Row("gzip: parts without end", lambda: gzip.compress(b"") * 9, "", "no tar is in it", Bounds(source_entries=8)),
    Row(
        "too many entries",
        lambda: pack_tar({str(n): b"" for n in range(9)}),
        "8",
        "at most 8",
        Bounds(source_entries=8),
    ),
]

OTHERS = [
    Row("nothing", lambda: b"", "", "it is not a zip"),
    Row("text", lambda: SKILL, "", "it is not a zip"),
    Row("bzip2", lambda: pack_tar({"a": b""}, mode="w:bz2"), "", "it is not a zip"),
    Row("xz", lambda: pack_tar({"a": b""}, mode="w:xz"), "", "it is not a zip"),
    Row("7z", lambda: b"7z\xbc\xaf\x27\x1c" + bytes(90), "", "it is not a zip"),
    Row("RAR", lambda: b"Rar!\x1a\7\0" + bytes(90), "", "it is not a zip"),
    Row("a part of a zip", lambda: b"PK\7\x08" + bytes(90), "", "it is not a zip"),
    Row("more than is fetched", lambda: zip_bytes(ZipEntry()), "", "are read", Bounds(fetched_bytes=99)),
    Row("a skill too deep", zipped(b"d/" * 16 + b"x"), "d/" * 16 + "x", "at most 16 names"),
    Row("a skill too large", tarred(b"b"), "b", "too large", Bounds(skill_bytes=len(SKILL))),
    Row("a skill of too many files", tarred(b"b"), "b", "at most 1", Bounds(skill_files=1)),
]

# Entries that are only left out, or contradict themselves: a zip's directory and a tar's last header count.
READ_ONE_WAY: dict[str, Callable[[], bytes]] = {
    "zip: a link that leads out": one_zip(ZipEntry(b"l", b"../x", mode=0o120777)),
    "zip: a link to nothing, by a system that has none": one_zip(ZipEntry(b"l", b"x", mode=0o120777, system=0)),
    "zip: git's directory": zipped(b".git/hooks/post-checkout"),
    "tar: a link that leads out": one_tar(TarEntry(b"l", b"", b"2", target=b"../x")),
    "tar: git's directory": tarred(b".git/hooks/post-checkout"),
    "zip: a directory by attribute": one_zip(ZipEntry(b"d", b"", attributes=0x10)),
    "zip: a directory with content": one_zip(ZipEntry(b"d/", b"x", mode=0o040755)),
    "zip: encrypted by its header": one_zip(ZipEntry(own={"flags": 1})),
    "zip: no size anywhere": one_zip(ZipEntry(flags=8, own={"crc": 0, "packed": 0, "unpacked": 0})),
    "zip: another name in a field": one_zip(ZipEntry(extra=struct.pack("<2HBL", 0x7075, 6, 1, 0) + b"x")),
    "zip: an entry that is none": lambda: zip_bytes(ZipEntry(), before=b"PK\3\4" * 10),
    "zip: a zip before the beginning": lambda: zip_bytes(ZipEntry()) + zip_bytes(ZipEntry(b"b.md")),
    "zip: bytes between": one_zip(ZipEntry(behind=b"hidden")),
    "zip: bytes behind the end": lambda: zip_bytes(ZipEntry(), behind=b"hidden"),
    "zip: fewer entries than there are": lambda: zip_bytes(ZipEntry(), ZipEntry(b"b"), end={"count": 1}),
    "tar: a link within": one_tar(TarEntry(b"l", b"", b"2", target=b"a.md")),
    "tar: two names": one_tar(pax((b"path", b"x"), (b"path", b"y")), TarEntry()),
    "tar: two sizes": one_tar(pax((b"size", b"512")), TarEntry(content=b"")),
    "tar: one name of all": one_tar(pax((b"path", b"x"), kind=b"g"), TarEntry()),
}


@pytest.mark.parametrize("why", READ_ONE_WAY)
def test_archives_with_links_or_conflicting_headers_write_nothing_outside(why: str, tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(READ_ONE_WAY[why]())
    (tmp_path / "new").mkdir()
    unpacked(tmp_path / "packed", tmp_path / "new", BOUNDS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "packed"]
    assert not {"l", ".git"} & {path.name for path in (tmp_path / "new").iterdir()} or why == "tar: a link within"
    assert SKILL in [path.read_bytes() for path in (tmp_path / "new").iterdir()] or why == "tar: two sizes"


def test_an_entry_over_the_directory_writes_nothing_outside_whether_this_python_reads_it_or_not(tmp_path: Path) -> None:
    """Newer Pythons, and distributions that have their fix, refuse it as a bomb; others read the one entry."""
    (tmp_path / "packed").write_bytes(one_zip(ZipEntry(own={"packed": 999}, listed={"packed": 999}))())
    (tmp_path / "new").mkdir()
    with suppress(ArchiveRefused):
        unpacked(tmp_path / "packed", tmp_path / "new", BOUNDS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "packed"]


def identity(row: Row) -> str:
    return row.why.replace("/", " ")


def open_files() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


@pytest.mark.parametrize(
    "row",
    [*NAMES, *ZIPS, *TARS, *OTHERS],
    ids=[*map(identity, NAMES), *(f"zip: {identity(r)}" for r in ZIPS), *(f"tar: {identity(r)}" for r in TARS)]
    + [identity(row) for row in OTHERS],
)
def test_a_hostile_archive_is_refused_with_its_entry_and_leaves_nothing(row: Row, tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(row.build())
    (tmp_path / "root" / "new").mkdir(parents=True)
    before = open_files()
    with pytest.raises(ArchiveRefused) as refused:
        unpacked(tmp_path / "packed", tmp_path / "root" / "new", row.bounds)
    assert refused.value.facts["entry"] == row.entry
    assert row.said in refused.value.message
    assert refused.value.message.startswith("given.zip is refused: ")
    assert "pack it" in (refused.value.hint or "") or "fix a copy" in (refused.value.hint or "")
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")) == [
        "packed",
        "root",
        "root/new",
    ]
    assert open_files() == before


def unpacked(packed: Path, destination: Path, bounds: Bounds) -> None:
    tree = ArchiveTree(str(packed), "given.zip", bounds)
    try:
        unpack_skill(tree, "", str(destination), bounds, name="given.zip")
    finally:
        tree.close()


@pytest.mark.parametrize("what", ["missing", "a directory", "a pipe"])
def test_a_missing_file_directory_or_pipe_is_refused_as_an_archive(what: str, tmp_path: Path) -> None:
    if what == "a directory":
        (tmp_path / "x.zip").mkdir()
    elif what == "a pipe":
        os.mkfifo(tmp_path / "x.zip")
    with pytest.raises(SourceUnreachable, match=r"x\.zip (cannot be read|is no regular file)"):
        ArchiveTree(str(tmp_path / "x.zip"), "x.zip")


# Unusual but valid output of common packers.
USUAL = {
    "entries below ./": lambda: tar_bytes(TarEntry(b"./", b"", b"5"), TarEntry(b"./SKILL.md")),
    "no end but one block": lambda: tar_bytes(TarEntry(), end=bytes(512)),
    "a comment of git": lambda: tar_bytes(pax((b"comment", b"0" * 40), kind=b"g"), TarEntry()),
    "times by pax": lambda: tar_bytes(pax((b"mtime", b"1.5")), TarEntry()),
    "the oldest tar": lambda: tar_bytes(TarEntry(kind=b"\0", magic=bytes(8))),
    "gzip in parts": lambda: gzip.compress(tar_bytes(TarEntry())[:700]) + gzip.compress(tar_bytes(TarEntry())[700:]),
    "sizes behind": lambda: zip_bytes(
        ZipEntry(
            flags=8,
            own={"crc": 0, "packed": 0, "unpacked": 0},
            packed=(deflated := zlib.compress(SKILL)[2:-4]),
            behind=b"PK\7\x08" + struct.pack("<3L", zlib.crc32(SKILL), len(deflated), len(SKILL)),
        )
    ),
    "a comment": lambda: zip_bytes(ZipEntry(), comment=b"packed by hand"),
    "what macOS adds": lambda: zip_bytes(ZipEntry(), ZipEntry(b"__MACOSX/._SKILL.md", b"x")),
    "stored": lambda: zip_bytes(ZipEntry(method=0)),
    "sizes of 64 bits": lambda: zip_bytes(
        ZipEntry(
            listed={"packed": 0xFFFFFFFF, "unpacked": 0xFFFFFFFF},
            packed=(deflated := zlib.compress(SKILL)[2:-4]),
            extra=struct.pack("<2H2Q", 1, 16, len(SKILL), len(deflated)),
        )
    ),
}


@pytest.mark.parametrize("why", USUAL)
def test_archives_of_common_packers_are_unpacked(why: str, tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(USUAL[why]())
    (tmp_path / "new").mkdir()
    unpacked(tmp_path / "packed", tmp_path / "new", BOUNDS)
    assert {path.name: path.read_bytes() for path in (tmp_path / "new").iterdir()} == {"SKILL.md": SKILL}


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (b"docs\\a.md", "docs/a.md"),
        ("docs/\u8aac\u660e.md".encode(), "docs/\u8aac\u660e.md"),
        ("r\u00e9sum\u00e9.md".encode("cp850"), "r\u00e9sum\u00e9.md"),
    ],
)
def test_zips_with_backslashes_or_old_encodings_are_read_if_unambiguous(raw: bytes, name: str, tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(zip_bytes(ZipEntry(mode=0, system=0), ZipEntry(raw, b"x", mode=0, system=0)))
    (tmp_path / "new").mkdir()
    unpacked(tmp_path / "packed", tmp_path / "new", BOUNDS)
    assert (tmp_path / "new" / name).read_bytes() == b"x"


@pytest.mark.parametrize(
    "packed",
    [
        zip_bytes(ZipEntry(b"a/SKILL.md"), ZipEntry(b"a/l.md", b"SKILL.md", mode=0o120777), ZipEntry(b"b/SKILL.md")),
        tar_bytes(TarEntry(b"a/SKILL.md"), TarEntry(b"a/l.md", b"", b"2", target=b"SKILL.md"), TarEntry(b"b/SKILL.md")),
    ],
)
def test_links_within_an_archived_skill_become_copies(packed: bytes, tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(packed)
    (tmp_path / "new").mkdir()
    with closing(ArchiveTree(str(tmp_path / "packed"), "x")) as tree:
        unpack_skill(tree, "a", str(tmp_path / "new"))
    assert (tmp_path / "new" / "l.md").read_bytes() == SKILL
    assert not (tmp_path / "new" / "l.md").is_symlink()


def hostile_directory(what: str, skill: Path) -> None:
    """Add an entry to a skill's directory that is never copied."""
    place = skill / "x"
    if what == "a pipe":
        os.mkfifo(place)
    elif what == "a socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(place))
    elif what == "a directory that cannot be read":
        place.mkdir(mode=0)
    elif what == "too deep":
        (skill / "/".join("x" * 16)).mkdir(parents=True)
        (skill / "/".join("x" * 16) / "x").write_bytes(b"x")
    elif what == "a name of no encoding":
        (skill / os.fsdecode(b"x\xff")).write_bytes(b"x")
    elif what == "a backslash":
        (skill / "x\\y").write_bytes(b"x")
    else:
        (skill / "skill.md").write_bytes(b"x")


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("a pipe", "neither a file nor a directory"),
        ("a socket", "neither a file nor a directory"),
        ("a directory that cannot be read", "neither a file nor a directory"),
        ("too deep", "at most 16 names"),
        ("a name of no encoding", "surrogate"),
        ("a backslash", "backslash"),
        ("letters of both cases", "one name"),
    ],
)
def test_a_hostile_directory_refuses_only_its_own_skill(
    what: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if what == "a directory that cannot be read" and os.geteuid() == 0:
        pytest.skip("root reads every directory")
    # Socket paths must be short.
    monkeypatch.chdir(tmp_path)
    source = write_files(
        Path("source"), {"bad/SKILL.md": SKILL, "bad/.git/config": b"", "beside/SKILL.md": SKILL, "outside.md": b"x"}
    )
    hostile_directory(what, source / "bad")
    Path("new").mkdir()
    tree = DirectoryTree("source")
    with pytest.raises(ArchiveRefused, match=said) as refused:
        unpack_skill(tree, "bad", "new")
    assert refused.value.facts["entry"].startswith("bad/")
    assert os.listdir("new") == []
    assert set(unpack_skill(tree, "beside", "new").files) == {"SKILL.md"}
    tree.close()


@pytest.mark.parametrize("what", ["a link", "gone"])
def test_files_that_become_links_or_vanish_after_listing_are_reported(what: str, tmp_path: Path) -> None:
    source = write_files(tmp_path / "source", {"SKILL.md": SKILL, "docs/a.md": b"first"})
    write_files(tmp_path, {"secret.md": b"12345"})
    (tmp_path / "new").mkdir()
    tree = DirectoryTree(str(source))
    (source / "docs" / "a.md").unlink()
    if what == "a link":
        (source / "docs" / "a.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(SourceUnreachable, match="docs/a"):
        unpack_skill(tree, "", str(tmp_path / "new"))
    tree.close()
    assert not list((tmp_path / "new").iterdir())


def test_a_directory_with_too_many_files_is_refused(tmp_path: Path) -> None:
    source = write_files(tmp_path / "source", {f"{n}.md": b"" for n in range(9)})
    with pytest.raises(ArchiveRefused, match="more than 8 files"):
        DirectoryTree(str(source), Bounds(source_entries=8))
