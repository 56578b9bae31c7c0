"""What is in a skill's files? Reads and listings that stay inside one skill's directory and inside a budget.

A path is judged before the file system is asked, then opened name by name from the skill's own directory, so that
nothing renamed or relinked meanwhile can lead out (DECISIONS 9 and 24). Knows nothing of what the files mean.
"""

from __future__ import annotations

import base64
import codecs
import errno
import functools
import itertools
import mimetypes
import os
import re
import stat
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skillhub_mcp.errors import InvalidArgument, PathNotAllowed, SkillFileNotFound
from skillhub_mcp.skills.near import near_names

MAX_PATH_BYTES = 1_024
MAX_NAME_BYTES = 255
MAX_DEPTH = 32

_SHOWN_CHARACTERS = 200
_HINTED_FILES = 5
# Every link, and every `..` within one, starts the walk anew; forty links is what Linux itself follows.
_MAX_WALKS = 64
_MAX_LISTED_ENTRIES = 10_000
_NOT_LISTED = frozenset({"node_modules", "__pycache__"})

_SEPARATORS = re.compile(r"[/\\]")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_DRIVE = re.compile(r"[A-Za-z]:")
# Windows opens devices and alternate streams under such names, and drops dots and blanks at their end.
_WINDOWS_MEANS_OTHERWISE = re.compile(r"(?i).*[:. ]$|.*:|(con|prn|aux|nul|com.|lpt.|conin\$|conout\$)\s*(\.|$)")

_WITHHELD = "is withheld: names that begin with a dot are served only with SKILLHUB_SERVE_DOTFILES=1"
_LEAVES = "leads out of the skill through a link"

_LONGEST_CHARACTER = 4
_BINARY_CUTS_TRIED = 64

_NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
_TO_DIRECTORY: int = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
# O_NONBLOCK: should a FIFO take the file's place after the look at it, opening it does not wait for a writer.
_TO_FILE: int = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_HAS_DESCRIPTORS = bool(_NO_LINK) and {os.open, os.stat, os.readlink} <= os.supports_dir_fd

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


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of a skill: its path below the skill's directory, with forward slashes, and its size in bytes."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class WantedFile:
    """A request that was judged fit: `parts` are plain names below the skill's directory, `path` is for messages."""

    skill: str
    path: str
    parts: tuple[str, ...]
    serve_dotfiles: bool

    def refused(self, reason: str) -> PathNotAllowed:
        """Return the error that says the path is not allowed, and why."""
        return PathNotAllowed(self.path, reason)

    def missing(self, reason: str = "does not exist") -> SkillFileNotFound:
        """Return the error that says there is no such file to read, and why."""
        return SkillFileNotFound(self.skill, self.path, reason)


Opener = Callable[[str, WantedFile], int]


# Reading


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
    wanted = _judge(file_path, skill=skill, serve_dotfiles=limits.serve_dotfiles)
    if offset < 0:
        raise InvalidArgument("offset", f"is {offset}, which is negative", hint="start at 0")
    behind = min(offset, _LONGEST_CHARACTER - 1)
    count = max(limits.max_bytes, _LONGEST_CHARACTER) + _LONGEST_CHARACTER - 1
    try:
        with _opened(directory, wanted, opener) as descriptor:
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
        error.hint = error.hint or _hint(directory, wanted)
        raise
    _refuse_within_character(found, behind, offset, limits.max_bytes)
    content, encoding, used = _cut(found[behind:], limits.max_bytes)
    truncated = used < len(found) - behind
    return FileContent(
        content=content,
        encoding=encoding,
        truncated=truncated,
        size=size,
        offset=offset,
        next_offset=offset + used if truncated else None,
        media_type=_media_type(wanted.parts[-1], text=encoding == "utf-8"),
    )


def read_whole(
    directory: str | Path, file_path: str, *, skill: str, max_bytes: int, opener: Opener | None = None
) -> bytes:
    """Read a whole file of a skill under the same confinement as `read_file`.

    Raises PathNotAllowed, InvalidArgument (an empty path) and SkillFileNotFound, the last also for a file of
    more than `max_bytes`.
    """
    wanted = _judge(file_path, skill=skill, serve_dotfiles=False)
    with _opened(directory, wanted, opener) as descriptor:
        content = _read_at(descriptor, 0, max_bytes + 1)
    if len(content) > max_bytes:
        raise wanted.missing(f"has more than {max_bytes:,} bytes")
    return content


@contextmanager
def _opened(directory: str | Path, wanted: WantedFile, opener: Opener | None) -> Iterator[int]:
    try:
        descriptor = (opener or open_confined)(os.fspath(directory), wanted)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise wanted.missing("is not a regular file")
            yield descriptor
        finally:
            os.close(descriptor)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise wanted.missing() from error
    except OSError as error:
        raise wanted.missing(f"cannot be read ({error.strerror or type(error).__name__})") from error


def _read_at(descriptor: int, offset: int, count: int) -> bytes:
    os.lseek(descriptor, offset, os.SEEK_SET)
    parts: list[bytes] = []
    while count > 0 and (part := os.read(descriptor, count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _media_type(name: str, *, text: bool) -> str:
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


# Cutting bytes into parts; no I/O


def _cut(ahead: bytes, most: int) -> tuple[str, Literal["utf-8", "base64"], int]:
    text = _text(ahead, most)
    if text is not None:
        return text[0], "utf-8", text[1]
    used = _binary_length(ahead, most)
    return base64.b64encode(ahead[:used]).decode("ascii"), "base64", used


def _text(ahead: bytes, most: int) -> tuple[str, int] | None:
    """Return the text that `most` bytes hold, at least one character, and its length in bytes; None if binary."""
    for limit in range(most, max(most, _LONGEST_CHARACTER) + 1):
        part = ahead[:limit]
        try:
            text, used = codecs.utf_8_decode(part, "strict", limit >= len(ahead))
        except UnicodeDecodeError:
            return None
        if "\0" in text:
            return None
        if text or not part:
            return text, used
    return None


def _binary_length(ahead: bytes, most: int) -> int:
    """Return how many bytes the part has. Its end is never within a character, so `next_offset` is never refused."""
    if len(ahead) <= most:
        return len(ahead)
    longest = max(3, most - most % 3)
    for length in range(longest, max(0, longest - 3 * _BINARY_CUTS_TRIED), -3):
        if _character_across(ahead, length) is None:
            return min(length, len(ahead))
    begin, end = _character_across(ahead, longest) or (longest, longest)
    return begin or end


def _character_across(content: bytes, at: int) -> tuple[int, int] | None:
    """Return where a UTF-8 character begins and ends that begins before `at` and ends after it."""
    for begin in range(max(0, at - _LONGEST_CHARACTER + 1), at):
        for end in range(at + 1, min(begin + _LONGEST_CHARACTER, len(content)) + 1):
            if _is_one_character(content[begin:end]):
                return begin, end
    return None


def _is_one_character(content: bytes) -> bool:
    try:
        return len(content.decode()) == 1
    except UnicodeDecodeError:
        return False


def _refuse_within_character(found: bytes, behind: int, offset: int, most: int) -> None:
    # Base64 of a text with half a character at its front would help nobody. In binary content, bytes that look like
    # a character mean nothing: there any offset is good.
    across = _character_across(found, behind)
    if across is not None and _text(found[across[1] :], most) is not None:
        raise InvalidArgument(
            "offset",
            f"is {offset}, which is within a character",
            hint=f"go on with next_offset; this character begins at {offset - behind + across[0]}",
        )


# Judging a path; no I/O


def _judge(file_path: str, *, skill: str, serve_dotfiles: bool) -> WantedFile:
    if not file_path:
        raise InvalidArgument("file_path", "is empty", hint="give a path such as 'references/guide.md'")
    # Messages travel as JSON, which has no half characters, and must not grow with the request.
    shown = file_path[:_SHOWN_CHARACTERS].encode("utf-8", "backslashreplace").decode()
    shown += "…" if len(file_path) > _SHOWN_CHARACTERS else ""
    reason = _unfit(file_path, serve_dotfiles=serve_dotfiles)
    if reason is not None:
        raise PathNotAllowed(shown, reason)
    parts = tuple(part for part in _SEPARATORS.split(file_path) if part not in ("", "."))
    return WantedFile(skill=skill, path=shown, parts=parts, serve_dotfiles=serve_dotfiles)


def _unfit(file_path: str, *, serve_dotfiles: bool) -> str | None:
    if len(file_path.encode("utf-8", "surrogatepass")) > MAX_PATH_BYTES:
        return f"has more than {MAX_PATH_BYTES} bytes"
    names = _SEPARATORS.split(file_path)
    if not names[-1]:
        names.pop()  # `references/` is the directory `references`
    if not names or not names[0]:
        return "is an absolute path"
    if names[0].startswith("~"):
        return "begins at a home directory"
    if not all(names):
        return "has an empty name between two separators"
    if len(names) > MAX_DEPTH:
        return f"has more than {MAX_DEPTH} names"
    return next((reason for name in names if (reason := _unfit_name(name, serve_dotfiles))), None)


def _unfit_name(name: str, serve_dotfiles: bool) -> str | None:
    if name == ".":
        return None
    if name == "..":
        return "has '..', which is never followed"
    if _CONTROLS.search(name):
        return "has a control character"
    if _DRIVE.match(name):
        return "names a drive"
    try:
        length = len(name.encode())
    except UnicodeEncodeError:
        return "has half of a character"
    if length > MAX_NAME_BYTES:
        return f"has a name of more than {MAX_NAME_BYTES} bytes"
    if os.name == "nt" and _WINDOWS_MEANS_OTHERWISE.match(name):
        return "has a name that Windows gives another meaning"
    if name.startswith(".") and not serve_dotfiles:
        return _WITHHELD
    return None


# Opening


def open_by_descriptors(directory: str, wanted: WantedFile) -> int:
    """Open the file name by name, each from its directory's descriptor, and never let the system follow a link.

    A link is read and walked here, anew from the skill's directory, so that it too can only reach what is inside,
    and nothing withheld. A race with a rename ends in an error or in a file that was inside when it was reached.
    Returns a descriptor; raises OSError besides the errors of `read_file`.
    """
    parts = list(wanted.parts)
    root = os.open(directory, _TO_DIRECTORY)
    try:
        for _ in range(_MAX_WALKS):
            reached = _walk(root, parts, wanted)
            if isinstance(reached, int):
                return reached
            parts = reached
            if len(parts) > 2 * MAX_DEPTH:
                break
    finally:
        os.close(root)
    raise wanted.missing("leads through too many links or too deep")


def _walk(root: int, parts: list[str], wanted: WantedFile) -> int | list[str]:
    """Walk to the file and return its descriptor, or the names to walk instead where a link or a `..` is met."""
    here = os.dup(root)
    try:
        for at, name in enumerate(parts):
            if name == "..":
                if at == 0:
                    raise wanted.refused(_LEAVES)
                # What was walked so far are directories, no links: `..` undoes exactly one name.
                return parts[: at - 1] + parts[at + 1 :]
            status = os.stat(name, dir_fd=here, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                return parts[:at] + _link_parts(os.readlink(name, dir_fd=here), wanted) + parts[at + 1 :]
            if stat.S_ISDIR(status.st_mode):
                there = os.open(name, _TO_DIRECTORY | _NO_LINK, dir_fd=here)
                os.close(here)
                here = there
            elif at < len(parts) - 1:
                raise wanted.missing()
            elif stat.S_ISREG(status.st_mode):
                return os.open(name, _TO_FILE | _NO_LINK, dir_fd=here)
            else:
                # Not even opened: opening a FIFO or a device can have effects.
                raise wanted.missing("is not a regular file")
    finally:
        os.close(here)
    raise wanted.missing("is a directory")


def _link_parts(target: str, wanted: WantedFile) -> list[str]:
    if target.startswith("/"):
        raise wanted.refused(_LEAVES)
    parts = [part for part in target.split("/") if part not in ("", ".")]
    if not wanted.serve_dotfiles and any(part.startswith(".") and part != ".." for part in parts):
        raise wanted.refused(_WITHHELD)
    return parts


def open_by_resolved_path(directory: str, wanted: WantedFile) -> int:
    """Open the file by its resolved path, where the system has no descriptors of directories (Windows).

    Weaker than `open_by_descriptors`: someone who can write into the skill could swap a directory for a link between
    the look and the opening. Absolute links that lead back inside are followed. Returns a descriptor; raises OSError
    besides the errors of `read_file`.
    """
    root = os.path.realpath(directory)
    target = Path(os.path.realpath(os.path.join(root, *wanted.parts)))
    if not target.is_relative_to(root):
        raise wanted.refused(_LEAVES)
    if not wanted.serve_dotfiles and any(part.startswith(".") for part in target.relative_to(root).parts):
        raise wanted.refused(_WITHHELD)
    mode = os.stat(target, follow_symlinks=False).st_mode
    if stat.S_ISLNK(mode):
        raise wanted.missing("leads through too many links or too deep")
    if stat.S_ISDIR(mode):
        raise wanted.missing("is a directory")
    if not stat.S_ISREG(mode):
        raise wanted.missing("is not a regular file")
    return os.open(target, _TO_FILE | _NO_LINK)


open_confined: Opener = open_by_descriptors if _HAS_DESCRIPTORS else open_by_resolved_path


# Listing


def list_files(
    directory: str | Path, *, limits: ReadLimits, max_files: int = 512
) -> tuple[tuple[FileEntry, ...], bool]:
    """List the files that `read_file` would serve, sorted by path; the second value says that there are more.

    Left out: what `read_file` refuses, links that leave the skill, links to directories (their files are listed where
    they are), node_modules and __pycache__. Where not all fit, files nearer the top come first. A directory
    that cannot be looked into counts as more.
    """
    top = os.fspath(directory)
    found: list[FileEntry] = []
    waiting: deque[tuple[str, ...]] = deque([()])
    budget = _MAX_LISTED_ENTRIES
    more = False
    while waiting and budget > 0:
        parts = waiting.popleft()
        try:
            names = _look_into(top, parts, budget, limits.serve_dotfiles)
        except OSError:
            more = True
            continue
        budget -= max(1, names.seen)
        found.extend(FileEntry("/".join((*parts, name)), size) for name, size in names.files)
        if len(parts) < MAX_DEPTH - 1:
            waiting.extend((*parts, name) for name in names.directories)
        else:
            more = more or bool(names.directories)
        if len(found) > max_files:
            break
    more = more or bool(waiting) or budget <= 0 or len(found) > max_files
    return tuple(sorted(found[:max_files], key=lambda entry: entry.path)), more


@dataclass(frozen=True, slots=True)
class _Names:
    """What one directory holds: its files with sizes, its directories, both sorted, and how many entries were seen."""

    files: list[tuple[str, int]]
    directories: list[str]
    seen: int


def _look_into(top: str, parts: tuple[str, ...], budget: int, serve_dotfiles: bool) -> _Names:
    files: list[tuple[str, int]] = []
    directories: list[str] = []
    seen = 0
    with _directory(top, parts) as place, os.scandir(place) as entries:
        for entry in itertools.islice(entries, budget):
            seen += 1
            name = entry.name
            asked = "/".join((*parts, name))
            if name in _NOT_LISTED or "\\" in name or _unfit(asked, serve_dotfiles=serve_dotfiles):
                continue
            if entry.is_dir(follow_symlinks=False):
                directories.append(name)
                continue
            size = _size(entry, top, (*parts, name), serve_dotfiles)
            if size is not None:
                files.append((name, size))
    return _Names(sorted(files), sorted(directories), seen)


@contextmanager
def _directory(top: str, parts: tuple[str, ...]) -> Iterator[int | str]:
    if not _HAS_DESCRIPTORS:
        place = os.path.join(os.path.realpath(top), *parts)
        if os.path.normcase(os.path.realpath(place)) != os.path.normcase(place):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), place)  # a junction, most likely
        yield place
        return
    here = os.open(top, _TO_DIRECTORY)
    try:
        for name in parts:
            there = os.open(name, _TO_DIRECTORY | _NO_LINK, dir_fd=here)
            os.close(here)
            here = there
        yield here
    finally:
        os.close(here)


def _size(entry: os.DirEntry[str], top: str, parts: tuple[str, ...], serve_dotfiles: bool) -> int | None:
    """Return the size of the file that reading this entry would give, or None where it would give none."""
    try:
        if not entry.is_symlink():
            status = entry.stat(follow_symlinks=False)
            return status.st_size if stat.S_ISREG(status.st_mode) else None
        wanted = WantedFile(skill="", path=entry.name, parts=parts, serve_dotfiles=serve_dotfiles)
        with _opened(top, wanted, None) as descriptor:
            return os.fstat(descriptor).st_size
    except (OSError, PathNotAllowed, SkillFileNotFound):
        return None


def _hint(directory: str | Path, wanted: WantedFile) -> str | None:
    """Say which of the skill's files the caller may have meant."""
    limits = ReadLimits(max_bytes=1, serve_dotfiles=wanted.serve_dotfiles)
    paths = [entry.path for entry in list_files(directory, limits=limits)[0]]
    asked = "/".join(wanted.parts)
    inside = [path for path in paths if not asked or path.startswith(f"{asked}/")]
    if inside:
        return f"files in it: {_quoted(inside)}"
    near = near_names(asked, paths)
    if near:
        return f"did you mean {_quoted(near)}?"
    return f"files of the skill: {_quoted(paths)}" if paths else None


def _quoted(paths: list[str]) -> str:
    rest = ", …" if len(paths) > _HINTED_FILES else ""
    return ", ".join(repr(path) for path in paths[:_HINTED_FILES]) + rest
