"""Reading a skill's file, as text (UTF-8 or UTF-16 with a byte order mark), as base64, or whole."""

from __future__ import annotations

import base64
import codecs
import functools
import hashlib
import mimetypes
import os
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from skillhub_mcp.errors import InvalidArgument, SkillFileNotFound
from skillhub_mcp.skills.files.confinement import open_in_skill
from skillhub_mcp.skills.files.listing import files_hint, list_files
from skillhub_mcp.skills.files.paths import WantedFile, check_path
from skillhub_mcp.skills.model import SKILL_FILE, is_skill_file

_MORE_MEDIA_TYPES = {
    ".md": "text/markdown",
    ".sh": "text/x-sh",
    ".toml": "application/toml",
    ".ts": "text/x-typescript",
    ".tsx": "text/x-typescript",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}


_UTF_16_BOMS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
# Each chunk of a file costs a look at all of it. Of a larger file size and time have to do.
_MAX_HASHED = 16 * 1024 * 1024
_DIGEST_CHARACTERS = 8
_LONGEST_CHARACTER = 4
_GROUP = 3  # bytes that are four characters of base64


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The maximum bytes of one read, and whether dotfiles are served."""

    max_bytes: int
    serve_dotfiles: bool = False


@dataclass(frozen=True, slots=True)
class FileContent:
    """One chunk of a file, with offsets in bytes. `digest` is of the whole file if this is a part of it."""

    content: str
    encoding: str
    truncated: bool
    size: int
    offset: int
    next_offset: int | None
    media_type: str
    digest: str = ""


def short_digest(content: bytes) -> str:
    """Return a digest to show a model: long enough to distinguish versions of a text."""
    return hashlib.sha256(content).hexdigest()[:_DIGEST_CHARACTERS]


def read_file(
    directory: str | Path,
    file_path: str,
    *,
    skill: str,
    limits: ReadLimits,
    offset: int = 0,
) -> FileContent:
    """Read a chunk of a skill's file from byte `offset` on: at most `limits.max_bytes` bytes, and at least a character.

    UTF-8, or UTF-16 with its mark, is returned as text, the rest as base64 that can be joined.
    Links are followed inside the skill. Raises PathNotAllowed, SkillFileNotFound and InvalidArgument.
    """
    wanted = check_path(file_path, skill=skill, serve_dotfiles=limits.serve_dotfiles)
    if offset < 0:
        raise InvalidArgument("offset", f"is {offset}, which is negative", hint="start at 0")
    most = max(limits.max_bytes, _LONGEST_CHARACTER)
    try:
        with open_in_skill(directory, wanted) as descriptor:
            size = os.fstat(descriptor).st_size
            if offset > size:
                raise InvalidArgument("offset", f"is {offset}, but the file has {size} bytes", hint="start at 0")
            ahead = _read_at(descriptor, offset, most + 1)
            # The file may have grown or shrunk since.
            size = max(os.fstat(descriptor).st_size, offset + len(ahead) if ahead else 0)
            codec = _UTF_16_BOMS.get(_read_at(descriptor, 0, 2), "utf-8")
            digest = _digest(descriptor) if offset > 0 or len(ahead) > most else ""
    except SkillFileNotFound as error:
        stored = _stored_path(directory, file_path, wanted)
        if stored is not None:
            return read_file(directory, stored, skill=skill, limits=limits, offset=offset)
        error.hint = error.hint or files_hint(directory, wanted)
        raise
    if codec != "utf-8" and offset % 2:
        message = f"is {offset}, which is within a character"
        raise InvalidArgument("offset", message, hint="continue with next_offset")
    text = _text_chunk(ahead, most, codec)
    encoding = codec if text is not None else "base64"
    content, used = text if text is not None else _base64_chunk(ahead, most)
    truncated = used < len(ahead)
    return FileContent(
        content=content,
        encoding=encoding,
        truncated=truncated,
        size=size,
        offset=offset,
        next_offset=offset + used if truncated else None,
        media_type=media_type(wanted.parts[-1], text=encoding != "base64"),
        digest=digest,
    )


def _base64_chunk(ahead: bytes, most: int) -> tuple[str, int]:
    """Return at most `most` bytes as base64 that can be joined, and their number."""
    used = len(ahead) if len(ahead) <= most else most - most % _GROUP
    return base64.b64encode(ahead[:used]).decode("ascii"), used


def _text_chunk(ahead: bytes, most: int, codec: str) -> tuple[str, int] | None:
    """Return the whole characters in the first `most` bytes, and how many bytes they are; None if it is binary."""
    decoder = codecs.getincrementaldecoder(codec)("strict")
    try:
        text = decoder.decode(ahead[:most], final=len(ahead) <= most)
    except UnicodeDecodeError:
        return None
    pending = len(decoder.getstate()[0])
    return None if "\0" in text else (text, len(ahead[:most]) - pending)


def _stored_path(directory: str | Path, file_path: str, wanted: WantedFile) -> str | None:
    """Return the path of the file that a path names in another spelling, or None."""
    plain = unicodedata.normalize("NFC", unquote("/".join(wanted.parts)))
    if file_path.isascii() and "%" not in file_path and plain != SKILL_FILE:
        return None
    for entry in list_files(directory, serve_dotfiles=wanted.serve_dotfiles)[0]:
        is_same = unicodedata.normalize("NFC", entry.path) == plain
        if entry.path != file_path and (is_same or (plain == SKILL_FILE and is_skill_file(entry.path))):
            return entry.path
    return None


def _digest(descriptor: int) -> str:
    status = os.fstat(descriptor)
    if status.st_size > _MAX_HASHED:
        return short_digest(f"{status.st_size} {status.st_mtime_ns}".encode())
    return short_digest(_read_at(descriptor, 0, _MAX_HASHED))


def read_whole(
    directory: str | Path, file_path: str, *, skill: str, max_bytes: int, serve_dotfiles: bool = False
) -> bytes:
    """Read a whole file, confined like `read_file`; one of more than `max_bytes` raises SkillFileNotFound."""
    wanted = check_path(file_path, skill=skill, serve_dotfiles=serve_dotfiles)
    try:
        with open_in_skill(directory, wanted) as descriptor:
            content = _read_at(descriptor, 0, max_bytes + 1)
    except SkillFileNotFound:
        stored = _stored_path(directory, file_path, wanted)
        if stored is None:
            raise
        return read_whole(directory, stored, skill=skill, max_bytes=max_bytes, serve_dotfiles=serve_dotfiles)
    if len(content) > max_bytes:
        raise wanted.missing(f"has more than {max_bytes:,} bytes")
    return content


def read_start_of(directory: str | Path, file_path: str, *, skill: str, max_bytes: int) -> tuple[bytes, int]:
    """Return at most `max_bytes` bytes of a skill's file, dotfiles too, and its size. Raises as `read_whole` does."""
    wanted = check_path(file_path, skill=skill, serve_dotfiles=True)
    with open_in_skill(directory, wanted) as descriptor:
        return _read_at(descriptor, 0, max_bytes), os.fstat(descriptor).st_size


def read_start(directory: str, name: str, *, skill: str, first_bytes: int, enough: Callable[..., int | None]) -> bytes:
    """Read as much of a skill's file as `enough(content, whole=...)` asks for. Raises as `read_file` does."""
    content, wanted = b"", first_bytes
    with open_in_skill(directory, check_path(name, skill=skill, serve_dotfiles=False)) as descriptor:
        while True:
            part = os.read(descriptor, wanted)
            content += part
            end = enough(content, whole=len(part) < wanted)
            if end is not None:
                return content[:end]
            wanted = len(content)


def _read_at(descriptor: int, offset: int, count: int) -> bytes:
    os.lseek(descriptor, offset, os.SEEK_SET)
    parts: list[bytes] = []
    while count > 0 and (part := os.read(descriptor, count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def media_type(name: str, *, text: bool) -> str:
    """Return the media type for a file name; `text` says whether the file's content is text."""
    # Only the suffix: `mimetypes` parses its argument as a URL.
    suffix = os.path.splitext(name)[1].lower()
    guessed, compressed = _media_types().guess_type(f"file{suffix}")
    if guessed is None or compressed:
        return "text/plain" if text else "application/octet-stream"
    return guessed


@functools.cache
def _media_types() -> mimetypes.MimeTypes:
    # A separate table: the global one of `mimetypes` also reads system files, which differ between machines.
    table = mimetypes.MimeTypes()
    for suffix, media_type in _MORE_MEDIA_TYPES.items():
        table.add_type(media_type, suffix)
    return table
