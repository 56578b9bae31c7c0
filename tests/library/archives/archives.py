"""Archives for tests, packed from a mapping of files, or byte by byte if no packer writes them."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SKILL = b"---\nname: pdf\ndescription: Reads PDF files.\n---\n# PDF\n"


def write_files(directory: Path, files: Mapping[str, bytes], *, executable: Sequence[str] = ()) -> Path:
    """Write files below a directory, and return it."""
    for path, content in files.items():
        place = directory / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        place.chmod(0o755 if path in executable else 0o644)
    directory.mkdir(exist_ok=True)
    return directory


def pack_zip(files: Mapping[str, bytes], *, executable: Sequence[str] = ()) -> bytes:
    """Return a zip as Python packs it."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if path in executable else 0o100644) << 16
            archive.writestr(entry, content)
    return packed.getvalue()


def pack_tar(files: Mapping[str, bytes], *, executable: Sequence[str] = (), mode: str = "w:gz") -> bytes:
    """Return a tar as Python packs it; `mode` is that of `tarfile.open`."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:  # type: ignore[call-overload]
        for path, content in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            entry.mode = 0o755 if path in executable else 0o644
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


@dataclass(frozen=True)
class ZipEntry:
    """An entry of a zip, with false values for its header and directory if they differ from the truth."""

    name: bytes = b"SKILL.md"
    content: bytes = SKILL
    method: int = 8
    flags: int = 0
    mode: int = 0o100644
    attributes: int = 0
    system: int = 3
    needed: int = 20
    own: Mapping[str, object] | None = None
    listed: Mapping[str, object] | None = None
    packed: bytes | None = None
    behind: bytes = b""
    extra: bytes = b""
    own_extra: bytes = b""


def zip_bytes(
    *entries: ZipEntry,
    before: bytes = b"",
    behind: bytes = b"",
    comment: bytes = b"",
    end: Mapping[str, int] | None = None,
) -> bytes:
    """Return a zip of exactly these bytes."""
    body, directory = bytearray(before), bytearray()
    for entry in entries:
        packed = entry.packed
        if packed is None:
            packed = _deflated(entry.content) if entry.method == 8 else entry.content
        truth: dict[str, object] = {
            "name": entry.name,
            "flags": entry.flags,
            "method": entry.method,
            "crc": zlib.crc32(entry.content),
            "packed": len(packed),
            "unpacked": len(entry.content),
            "at": len(body),
        }
        own, listed = truth | dict(entry.own or {}), truth | dict(entry.listed or {})
        body += struct.pack("<4s5H3L2H", b"PK\3\4", 20, *_fields(own), len(_name(own)), len(entry.own_extra))
        body += _name(own) + entry.own_extra + packed + entry.behind
        lengths = (len(_name(listed)), len(entry.extra), 0, 0, 0)
        directory += struct.pack("<4s2B5H3L5H", b"PK\1\2", 20, entry.system, entry.needed, *_fields(listed), *lengths)
        directory += struct.pack("<2L", entry.mode << 16 | entry.attributes, listed["at"]) + _name(listed) + entry.extra
    says = {"disk": 0, "count": len(entries), "length": len(directory), "at": len(body)} | dict(end or {})
    last = struct.pack(
        "<4s4H2LH",
        b"PK\5\6",
        says["disk"],
        says["disk"],
        says["count"],
        says["count"],
        says["length"],
        says["at"],
        len(comment),
    )
    return bytes(body + directory + last + comment + behind)


def _fields(said: Mapping[str, object]) -> tuple[object, ...]:
    return (said["flags"], said["method"], 0, 0, said["crc"], said["packed"], said["unpacked"])


def _name(said: Mapping[str, object]) -> bytes:
    assert isinstance(said["name"], bytes)
    return said["name"]


def _deflated(content: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()


@dataclass(frozen=True)
class TarEntry:
    """An entry of a tar; `size` is the declared size if it is false."""

    name: bytes = b"SKILL.md"
    content: bytes = SKILL
    kind: bytes = b"0"
    size: bytes | None = None
    mode: bytes = b"0000644\0"
    target: bytes = b""
    magic: bytes = b"ustar\00000"
    checksum: bytes | None = None
    prefix: bytes = b""


TAR_END = bytes(1024)


def tar_bytes(*entries: TarEntry, end: bytes = TAR_END) -> bytes:
    """Return a tar of exactly these entries."""
    return b"".join(map(_tar_entry, entries)) + end


def _tar_entry(entry: TarEntry) -> bytes:
    size = b"%011o\0" % len(entry.content) if entry.size is None else entry.size
    header = (
        entry.name.ljust(100, b"\0") + entry.mode + b"0000000\0" * 2 + size + b"00000000000\0" + b" " * 8 + entry.kind
    )
    header += entry.target.ljust(100, b"\0") + entry.magic + bytes(80) + entry.prefix.ljust(155, b"\0") + bytes(12)
    checksum = b"%06o\0 " % sum(header) if entry.checksum is None else entry.checksum
    return header[:148] + checksum + header[156:] + entry.content + bytes(-len(entry.content) % 512)


def pax(*records: tuple[bytes, bytes], kind: bytes = b"x") -> TarEntry:
    """Return a pax header for the next entry, or for all entries with `g`."""
    return TarEntry(b"pax", b"".join(_pax_record(key, value) for key, value in records), kind)


def _pax_record(key: bytes, value: bytes) -> bytes:
    rest = b" " + key + b"=" + value + b"\n"
    length = len(rest) + 1
    while len(str(length)) + len(rest) != length:
        length += 1
    return str(length).encode() + rest
