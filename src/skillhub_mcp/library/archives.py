"""A zip, tar or tar.gz as a tree, recognised by content, read by `zipfile` and `tarfile`.

Every entry's name, type, size and ratio is checked when the archive is opened, and one bad entry refuses the whole
archive. `unpack` writes the files.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import IO

from skillhub_mcp.errors import ArchiveRefused, SourceUnreachable
from skillhub_mcp.library.tree import BOUNDS, PIECE_BYTES, Bounds, Tree, TreeEntry, TreeEntryKind, in_mib, in_order
from skillhub_mcp.library.unpack import EntryNames, entry_problem
from skillhub_mcp.skills.files.confinement import NO_LINK, TO_PLAIN_FILE

# An archive without entries begins with its end.
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_GZIP = b"\x1f\x8b"
_CENTRAL_HEADER = b"PK\x01\x02"
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_UTF_8 = 0x800
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What macOS packs beside the files: data of its file system, no file of a skill.
_MACOS = "__MACOSX/"
_IN_MEMORY = 16 * 1024 * 1024
_MOST_HEADER = 1024 * 1024
_HEADERS = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
)
_MOST_TARGET = 4_096
_SHOWN = 200
_AGAIN = "fetch or pack it again: nothing of it was unpacked"
_PACK = "pack it as .zip or .tar.gz"
# What the standard library raises for an archive that is damaged.
_DAMAGED = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error),
    *(EOFError, NotImplementedError, ValueError, OverflowError),
)

Open = Callable[[], IO[bytes]]


class ArchiveTree(Tree):
    """The files of the archive at `path`, which messages call `name`. Raises ArchiveRefused and SourceUnreachable."""

    def __init__(self, path: str, name: str, bounds: Bounds = BOUNDS) -> None:
        super().__init__()
        self._name = name
        self._bounds = bounds
        self._opens: dict[str, Open] = {}
        self._found: dict[str, TreeEntry] = {}
        self._names = EntryNames()
        self._seen = self._bytes = 0
        with ExitStack() as opened, _reading(name):
            file = open(os.open(path, TO_PLAIN_FILE & ~NO_LINK), "rb")  # noqa: SIM115 - closed with the tree
            self._file = opened.enter_context(file)
            self._read_entries(opened)
            self.until_closed = opened.pop_all()
        self.entries = in_order(self._found.values())

    def read(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of a file in pieces. Raises ArchiveRefused and SourceUnreachable."""
        if path not in self._opens or self._found[path].kind is not TreeEntryKind.FILE:
            raise SourceUnreachable(self._name, f"has no file {path!r}")
        with _reading(self._name, path), self._opens[path]() as file:
            yield from iter(partial(file.read, PIECE_BYTES), b"")

    def _read_entries(self, until_closed: ExitStack) -> None:
        if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            raise SourceUnreachable(self._name, "is no regular file")
        size = self._file.seek(0, 2)
        if size > self._bounds.fetched_bytes:
            raise self._refused(f"it has {in_mib(size)}, and at most {in_mib(self._bounds.fetched_bytes)} are read")
        start = self._start(self._file)
        if start.startswith(_ZIP):
            self._read_zip(until_closed)
        elif start.startswith(_GZIP):
            spool = until_closed.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115 - closed with the tree
            self._gunzip(spool, size)
            if not _is_tar(self._start(spool)):
                raise ArchiveRefused(self._name, "it is gzip, and no tar is in it", hint=_PACK)
            self._read_tar(spool)
        elif _is_tar(start):
            self._read_tar(self._file)
        else:
            raise ArchiveRefused(self._name, "it is not a zip, tar or tar.gz archive", hint=_PACK)

    @staticmethod
    def _start(file: IO[bytes]) -> bytes:
        file.seek(0)
        start = file.read(tarfile.BLOCKSIZE)
        file.seek(0)
        return start

    def _read_zip(self, until_closed: ExitStack) -> None:
        # zipfile reads the whole directory at once, so the entries are counted first.
        count = sum(piece.count(_CENTRAL_HEADER) for piece in iter(lambda: self._file.read(PIECE_BYTES), b""))
        if count > self._bounds.source_entries:
            raise self._refused(f"it has more than {self._bounds.source_entries:,} entries")
        archive = until_closed.enter_context(zipfile.ZipFile(self._file))
        infos = archive.infolist()
        has_slashes = any("/" in info.orig_filename for info in infos)
        for info in infos:
            path = self._zip_name(info, has_slashes=has_slashes)
            mode = info.external_attr >> 16
            kind = stat.S_IFMT(mode)
            if info.flag_bits & _ENCRYPTED:
                raise self._refused("is encrypted", path)
            if info.compress_type not in _METHODS:
                raise self._refused(f"is packed by a method that is not read here (number {info.compress_type})", path)
            is_directory = path.endswith("/")
            if kind and is_directory != (kind == stat.S_IFDIR):
                raise self._refused("is a directory by its name or its mode, and a file by the other", path)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
                raise self._refused("is a device or a pipe", path)
            self._check_ratio(info.file_size, info.compress_size, path)

            def opened(info: zipfile.ZipInfo = info) -> IO[bytes]:
                return archive.open(info)

            entry = TreeEntry(path, TreeEntryKind.FILE, info.file_size, bool(mode & stat.S_IXUSR))
            if kind == stat.S_IFLNK:
                with opened() as file:
                    entry = replace(entry, kind=TreeEntryKind.LINK, target=file.read(_MOST_TARGET).decode())
            self._add(entry, opened, is_directory=is_directory)

    def _zip_name(self, info: zipfile.ZipInfo, *, has_slashes: bool) -> str:
        """Return an entry's name if it is unambiguous.

        Without its flag it is UTF-8 (macOS), or letters that are the same in both usual DOS encodings. Backslashes
        separate directories if the archive has no slashes (old packers of Windows).
        """
        name = info.orig_filename
        if not info.flag_bits & _UTF_8:
            raw = name.encode("cp437")
            try:
                name = raw.decode()
            except UnicodeDecodeError:
                if name != raw.decode("cp850") or not all(one.isascii() or one.isalpha() for one in name):
                    shown = raw.decode("utf-8", "backslashreplace")
                    raise self._refused("has a name that is not UTF-8", shown) from None
        return name if has_slashes else name.replace("\\", "/")

    def _read_tar(self, file: IO[bytes]) -> None:
        size = file.seek(0, 2)
        file.seek(0)
        tar = open_tar(file)
        for member in tar:
            name = member.name
            if member.issparse() or not (member.isreg() or member.isdir() or member.issym()):
                what = "a link" if member.islnk() else "sparse" if member.issparse() else "a device, or of another kind"
                raise self._refused(f"is {what}, and an archive may have files, directories and symbolic links", name)
            if member.isdir() and member.size:
                raise self._refused("is a directory with content", name)
            # Older Pythons lack the filter. The names are checked more strictly than it does.
            if not member.issym() and hasattr(tarfile, "data_filter") and not entry_problem(name):
                member = tarfile.data_filter(member, self._name)  # noqa: PLW2901

            def opened(member: tarfile.TarInfo = member) -> IO[bytes]:
                return tar.extractfile(member) or io.BytesIO()

            kind = TreeEntryKind.LINK if member.issym() else TreeEntryKind.FILE
            entry = TreeEntry(name, kind, member.size, bool((member.mode or 0) & stat.S_IXUSR), member.linkname)
            self._add(entry, opened, is_directory=member.isdir())
            if tar.offset > size:
                raise self._refused("is cut off", name)
        # tarfile takes a damaged header for the end.
        file.seek(tar.offset)
        rest = b""
        while piece := file.read(PIECE_BYTES):
            rest = piece
            if piece.strip(b"\0"):
                raise self._refused("it is damaged, or has bytes behind its end")
        if not rest:
            raise self._refused("it is cut off: it has no end")

    def _gunzip(self, spool: IO[bytes], size: int) -> None:
        unpacked = 0
        with gzip.GzipFile(fileobj=self._file) as packed:
            while piece := packed.read(PIECE_BYTES):
                unpacked += len(piece)
                self._check_ratio(unpacked, min(self._file.tell(), size))
                if unpacked > self._bounds.source_bytes:
                    raise self._refused(f"it unpacks to more than {in_mib(self._bounds.source_bytes)}")
                spool.write(piece)

    def _add(self, entry: TreeEntry, opened: Open, *, is_directory: bool) -> None:
        """Check an entry by its name and size, and keep it if it is a file or a link."""
        path, bounds = entry.path, self._bounds
        self._seen += 1
        if self._seen > bounds.source_entries:
            raise self._refused(f"is one entry too many: an archive has at most {bounds.source_entries:,}", path)
        self._bytes += entry.size
        if self._bytes > bounds.source_bytes:
            most = in_mib(bounds.source_bytes)
            raise self._refused(f"makes the archive too large: it unpacks to {most} at most", path)
        path = path.removeprefix("./")
        if is_directory:
            path = path.removesuffix("/")
            if path in ("", "."):
                return
        above, git, _ = f"/{path}/".partition("/.git/")
        if git:
            # No skill gets git's own directory.
            path, is_directory = above[1:], True
            found = TreeEntry(f"{path}/.git".lstrip("/"), TreeEntryKind.OTHER)
            self._found[found.path] = found
        problem = path and (entry_problem(path) or self._names.problem(path, is_directory=is_directory))
        if problem:
            raise self._refused(problem, f"{path}/" if is_directory else path)
        if not is_directory and not path.startswith(_MACOS):
            self._found[path] = replace(entry, path=path)
            self._opens[path] = opened

    def _check_ratio(self, unpacked: int, packed: int, entry: str = "") -> None:
        bounds = self._bounds
        if unpacked > bounds.ratio_from and unpacked > bounds.ratio * packed:
            most = f"at most {bounds.ratio} : 1 beyond {in_mib(bounds.ratio_from)}"
            raise self._refused(f"{'' if entry else 'it '}unpacks to too many times its size: {most}", entry)

    def _refused(self, reason: str, entry: str = "") -> ArchiveRefused:
        return ArchiveRefused(self._name, reason, entry=_shown(entry), hint=_AGAIN)


class _BoundedTarInfo(tarfile.TarInfo):
    """An entry whose extra headers, which tarfile reads into memory, are bounded."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _BoundedTarInfo:
        found = super().frombuf(buf, encoding, errors)
        if found.type in _HEADERS and found.size > _MOST_HEADER:
            raise tarfile.ReadError(f"a header has more than {_MOST_HEADER:,} bytes")
        return found


def is_archive(path: str) -> bool:
    """Whether a file is a zip, a tar, or something in gzip, by its first block."""
    with open(path, "rb") as file:
        start = file.read(tarfile.BLOCKSIZE)
    return start.startswith((*_ZIP, _GZIP)) or _is_tar(start)


def open_tar(file: IO[bytes]) -> tarfile.TarFile:
    """Return a tar whose headers are bounded."""
    return tarfile.TarFile(fileobj=file, tarinfo=_BoundedTarInfo, encoding="utf-8", errors="surrogateescape")


@contextmanager
def _reading(name: str, entry: str = "") -> Iterator[None]:
    """Turn what the standard library raises into ArchiveRefused or SourceUnreachable."""
    try:
        yield
    except (*_DAMAGED, OSError) as error:
        # A damaged zip makes zipfile seek to an offset that is invalid.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            reason = f"cannot be read: {error.strerror or type(error).__name__}"
            hint = "check that it exists and that you may read it"
            raise SourceUnreachable(name, reason, hint=hint) from error
        reason = f"{'' if entry else 'it '}is damaged or cut off: {error or type(error).__name__}"
        raise ArchiveRefused(name, reason, entry=_shown(entry), hint=_AGAIN) from error


def _is_tar(block: bytes) -> bool:
    try:
        tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def _shown(name: str) -> str:
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
