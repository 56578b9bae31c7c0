"""An archive as a tree: zip, tar and tar.gz, told by their content and not by their name.

It is looked at whole when it is opened, and refused whole. Nothing of it is on the disk under a name of its own.
"""

from __future__ import annotations

import os
import stat
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from typing import IO

from skillhub_mcp.errors import ArchiveRefused, SourceUnreachable
from skillhub_mcp.library.archives.archive_entries import ArchiveEntries
from skillhub_mcp.library.archives.tar_archive import BLOCK, TarArchive, is_tar_header
from skillhub_mcp.library.archives.zip_archive import ZipArchive
from skillhub_mcp.library.bounds import BOUNDS, Bounds, in_mib
from skillhub_mcp.library.tree import TreeEntry

# An archive without entries begins with its end.
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_OTHERS = {
    b"PK": "a damaged or split zip",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ\0": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!": "a RAR archive",
}
_PIECE = 64 * 1024
_IN_MEMORY = 16 * 1024 * 1024
_TO_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_HINT = "pack it as .zip or .tar.gz"


class ArchiveTree:
    """The files of an archive, by name. It has no commit, and its directories have no ids."""

    def __init__(self, archive: ZipArchive | TarArchive, files: Sequence[IO[bytes]], name: str) -> None:
        self._archive = archive
        self._files = files
        self._name = name
        self._stamp = _stamp(files[0])
        self._paths = frozenset(entry.path for entry in archive.entries)

    @property
    def entries(self) -> Sequence[TreeEntry]:
        """Every file, in the order of the paths' bytes."""
        return self._archive.entries

    @property
    def commit(self) -> str:
        """Nothing: what an archive says of its commit is not checked."""
        return ""

    def tree_id(self, path: str) -> str:
        """Return nothing: an archive has no ids."""
        del path
        return ""

    def read(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of a file in pieces. Raises ArchiveRefused, and SourceUnreachable for one that is not there.

        Raises SourceUnreachable also where the archive is another than when it was looked at.
        """
        if path not in self._paths:
            raise SourceUnreachable(self._name, f"has no file {path!r}")
        try:
            yield from self._archive.read(path)
            changed = _stamp(self._files[0]) != self._stamp
        except OSError as error:
            raise _unreadable(self._name, error) from error
        if changed:
            raise SourceUnreachable(self._name, "was changed while it was read", hint="try again")

    def close(self) -> None:
        """Close the archive, and remove what was kept of it."""
        for file in self._files:
            file.close()


def open_archive(path: str, name: str, bounds: Bounds = BOUNDS) -> ArchiveTree:
    """Return the archive at `path`, all of whose entries were looked at. `name` is what messages call it.

    Raises ArchiveRefused, and SourceUnreachable where there is no such file, or it cannot be read.
    """
    try:
        file = open(path, "rb", opener=lambda path, _: os.open(path, _TO_READ))  # noqa: SIM115 - the tree closes it
    except OSError as error:
        raise _unreadable(name, error) from error
    opened: list[IO[bytes]] = [file]
    try:
        archive = _opened(file, opened, name, bounds)
        return ArchiveTree(archive, opened, name)
    except BaseException as error:
        for each in opened:
            each.close()
        if isinstance(error, OSError):
            raise _unreadable(name, error) from error
        raise


def _opened(file: IO[bytes], opened: list[IO[bytes]], name: str, bounds: Bounds) -> ZipArchive | TarArchive:
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        raise SourceUnreachable(name, "is no regular file")
    found = ArchiveEntries(name, bounds)
    size = file.seek(0, 2)
    if size > bounds.fetched_bytes:
        raise found.refused(f"it has {in_mib(size)}, and at most {in_mib(bounds.fetched_bytes)} are read")
    file.seek(0)
    start = file.read(BLOCK)
    if start.startswith(_ZIP):
        return ZipArchive(file, found)
    if start.startswith(_GZIP):
        spool = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - the tree closes it
        opened.append(spool)
        _gunzip(file, spool, found)
        spool.seek(0)
        if not is_tar_header(spool.read(BLOCK)):
            raise ArchiveRefused(name, "it is gzip, and no tar is in it", hint=_HINT)
        return TarArchive(spool, found)
    if is_tar_header(start):
        return TarArchive(file, found)
    what = next((what for sign, what in _OTHERS.items() if start.startswith(sign)), "no archive that is known here")
    raise ArchiveRefused(name, f"it is {what}", hint=_HINT)


def _gunzip(file: IO[bytes], spool: IO[bytes], found: ArchiveEntries) -> None:
    """Unpack gzip, which may have several parts one after the other, as it was made in. Raises ArchiveRefused."""
    file.seek(0)
    unpack = zlib.decompressobj(_GZIP_WINDOW)
    packed, unpacked, parts = 0, 0, 1
    piece = file.read(_PIECE)
    while piece:
        try:
            content = unpack.decompress(piece, _PIECE)
        except zlib.error:
            raise found.refused("it is damaged") from None
        rest = unpack.unused_data if unpack.eof else unpack.unconsumed_tail
        packed += len(piece) - len(rest)
        unpacked += len(content)
        found.check_ratio(unpacked, packed)
        if unpacked > found.bounds.source_bytes:
            raise found.refused(f"it unpacks to more than {in_mib(found.bounds.source_bytes)}")
        spool.write(content)
        piece = rest or file.read(_PIECE)
        if unpack.eof and piece:
            if not piece.startswith(_GZIP[: len(piece)]):
                raise found.refused("it has bytes behind its end")
            parts += 1
            if parts > found.bounds.source_entries:
                raise found.refused(f"it has more than {found.bounds.source_entries:,} parts")
            unpack = zlib.decompressobj(_GZIP_WINDOW)
    # What comes at the very end of it is its checksum, so nothing waits to be unpacked.
    if not unpack.eof:
        raise found.refused("it is cut off")


def _stamp(file: IO[bytes]) -> tuple[int, int]:
    status = os.fstat(file.fileno())
    return status.st_mtime_ns, status.st_size


def _unreadable(name: str, error: OSError) -> SourceUnreachable:
    reason = f"cannot be read: {error.strerror or type(error).__name__}"
    return SourceUnreachable(name, reason, hint="look whether it is there, and whether you may read it")
