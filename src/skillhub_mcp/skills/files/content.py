"""What does a file of a skill hold? One part of it, within a budget of bytes, as text or as base64."""

from __future__ import annotations

import functools
import mimetypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skillhub_mcp.errors import InvalidArgument, SkillFileNotFound
from skillhub_mcp.skills.files.chunks import LONGEST_CHARACTER, cut, refuse_within_character
from skillhub_mcp.skills.files.confinement import NO_LINK, TO_PLAIN_FILE, Opener, opened
from skillhub_mcp.skills.files.listing import files_hint
from skillhub_mcp.skills.files.paths import judge

_MORE_MEDIA_TYPES = {
    ".md": "text/markdown",
    ".sh": "text/x-sh",
    ".toml": "application/toml",
    ".ts": "text/x-typescript",
    ".tsx": "text/x-typescript",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """How much one read returns, in bytes of the file, and whether names that begin with a dot are served."""

    max_bytes: int
    serve_dotfiles: bool = False

    def __post_init__(self) -> None:
        if self.max_bytes < 1:
            raise ValueError(f"max_bytes must be at least 1, not {self.max_bytes}")


@dataclass(frozen=True, slots=True)
class FileContent:
    """One part of a file. `size` and both offsets count bytes; `next_offset` is where the rest begins, if any."""

    content: str
    encoding: Literal["utf-8", "base64"]
    truncated: bool
    size: int
    offset: int
    next_offset: int | None
    media_type: str


def read_file(
    directory: str | Path,
    file_path: str,
    *,
    skill: str,
    limits: ReadLimits,
    offset: int = 0,
    opener: Opener | None = None,
) -> FileContent:
    """Read the part of a skill's file that begins at byte `offset`, at most `limits.max_bytes` of it (seed 002 §3.4).

    A part that is UTF-8 without NUL comes as text, exactly as stored (a byte order mark stays), cut between
    characters. Any other part comes as base64 of its bytes, cut at a multiple of three bytes so that parts can be
    joined; only where every such cut would split a character is it cut beside that character. Each part is judged by
    itself, so a text that turns binary half-way changes its encoding half-way. A limit below four bytes may be
    exceeded by up to three, since one character must fit.

    Slash and backslash both separate names. Absolute paths, drives, `~`, empty names, control characters and every
    `..` are refused, also where `..` would stay inside. Links are followed while they stay inside the skill; an
    absolute link counts as leaving. A hard link cannot be told from the file itself and is read.

    Raises:
        PathNotAllowed: the path leaves the skill, or names what is withheld.
        SkillFileNotFound: there is no such file, or it is a directory, no regular file, or not readable.
        InvalidArgument: the path is empty; the offset is negative, beyond the end, or within a character.
    """
    wanted = judge(file_path, skill=skill, serve_dotfiles=limits.serve_dotfiles)
    if offset < 0:
        raise InvalidArgument("offset", f"is {offset}, which is negative", hint="start at 0")
    behind = min(offset, LONGEST_CHARACTER - 1)
    count = max(limits.max_bytes, LONGEST_CHARACTER) + LONGEST_CHARACTER - 1
    try:
        with opened(directory, wanted, opener) as descriptor:
            size = os.fstat(descriptor).st_size
            if offset > size:
                raise InvalidArgument(
                    "offset",
                    f"is {offset}, but the file has {size} bytes",
                    hint="start at 0 and go on with next_offset",
                )
            found = _read_at(descriptor, offset - behind, behind + count)
            # The file may have grown or shrunk meanwhile.
            size = max(os.fstat(descriptor).st_size, offset - behind + len(found) if found else 0)
    except SkillFileNotFound as error:
        error.hint = error.hint or files_hint(directory, wanted)
        raise
    refuse_within_character(found, behind, offset, limits.max_bytes)
    content, encoding, used = cut(found[behind:], limits.max_bytes)
    truncated = used < len(found) - behind
    return FileContent(
        content=content,
        encoding=encoding,
        truncated=truncated,
        size=size,
        offset=offset,
        next_offset=offset + used if truncated else None,
        media_type=media_type(wanted.parts[-1], text=encoding == "utf-8"),
    )


def read_whole(
    directory: str | Path,
    file_path: str,
    *,
    skill: str,
    max_bytes: int,
    serve_dotfiles: bool = False,
    opener: Opener | None = None,
) -> bytes:
    """Read a whole file of a skill under the same confinement as `read_file`.

    Raises PathNotAllowed, InvalidArgument (an empty path) and SkillFileNotFound, the last also for a file of
    more than `max_bytes`.
    """
    wanted = judge(file_path, skill=skill, serve_dotfiles=serve_dotfiles)
    with opened(directory, wanted, opener) as descriptor:
        content = _read_at(descriptor, 0, max_bytes + 1)
    if len(content) > max_bytes:
        raise wanted.missing(f"has more than {max_bytes:,} bytes")
    return content


def read_start(directory: str, name: str, *, skill: str, first_bytes: int, enough: Callable[..., int | None]) -> bytes:
    """Read as many of the first bytes of the skill's own file `name` as are `enough`, and return just those.

    `enough(content, whole=...)` says how many of the bytes read so far are wanted, or None where more must be read.
    Raises SkillFileNotFound, and PathNotAllowed where a link leads out of the skill.
    """
    try:
        # The plain way: `directory` is canonical, and the system itself refuses where the name is a link.
        descriptor = os.open(os.path.join(directory, name), TO_PLAIN_FILE) if NO_LINK else None
    except OSError:
        descriptor = None
    if descriptor is None:
        with opened(directory, judge(name, skill=skill, serve_dotfiles=False), None) as confined:
            return _start(confined, first_bytes, enough)
    try:
        return _start(descriptor, first_bytes, enough)
    except OSError as error:
        raise SkillFileNotFound(skill, name, f"cannot be read ({error.strerror or type(error).__name__})") from error
    finally:
        os.close(descriptor)


def _start(descriptor: int, first_bytes: int, enough: Callable[..., int | None]) -> bytes:
    content = b""
    wanted = first_bytes
    while True:
        part = os.read(descriptor, wanted)
        content = content + part if content else part
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
    """Return the media type of a file by its name; `text` says whether its content is."""
    # Only the suffix: the library reads its argument as a URL.
    suffix = os.path.splitext(name)[1].lower()
    guessed, compressed = _media_types().guess_type(f"file{suffix}")
    if guessed is None or compressed:
        return "text/plain" if text else "application/octet-stream"
    return guessed


@functools.cache
def _media_types() -> mimetypes.MimeTypes:
    # An own table: the library's global one also reads the machine's files, which differ.
    table = mimetypes.MimeTypes()
    for suffix, media_type in _MORE_MEDIA_TYPES.items():
        table.add_type(media_type, suffix)
    return table
