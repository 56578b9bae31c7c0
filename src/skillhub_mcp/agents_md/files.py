"""Find and read one AGENTS.md, without following links out of the project. A bad file gives a note."""

from __future__ import annotations

import codecs
import os
import stat
from dataclasses import dataclass

AGENTS_FILE = "AGENTS.md"

_MAX_READ_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FoundAgentsFile:
    """An existing AGENTS.md. `real` is the path without links; `identity` is equal for the same file."""

    path: str
    real: str
    mtime_ms: int
    size: int
    identity: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Note:
    """Why a file is left out or incomplete."""

    path: str
    message: str


def find_agents_file(directory: str, *, root: str) -> FoundAgentsFile | Note | None:
    """Return the AGENTS.md of a directory, a note if it cannot be used, or None."""
    path = os.path.join(directory, AGENTS_FILE)
    try:
        if not stat.S_ISLNK(os.lstat(path).st_mode):
            real = path
        else:
            real = os.path.realpath(path)
            if not is_within(real, root):
                return Note(path, "is a link out of the project and is not followed")
        status = os.stat(real)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return Note(path, f"cannot be read: {error.strerror}")
    if not stat.S_ISREG(status.st_mode):
        return Note(path, "is not a regular file")
    mtime_ms = status.st_mtime_ns // 1_000_000
    return FoundAgentsFile(path, real, mtime_ms, status.st_size, (status.st_dev, status.st_ino))


def read_agents_file(place: FoundAgentsFile) -> tuple[str, list[Note]]:
    """Return the text of a file without trailing blanks, and notes on it."""
    try:
        # The file may have been replaced by a link, or by a FIFO, on which opening would wait.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        number = os.open(place.real, flags)
        with open(number, "rb") as file:
            content = file.read(_MAX_READ_BYTES + 1)
    except FileNotFoundError:
        return "", [Note(place.path, "was removed before it could be read")]
    except OSError as error:
        return "", [Note(place.path, f"cannot be read: {error.strerror}")]
    notes = []
    if len(content) > _MAX_READ_BYTES:
        content = content[:_MAX_READ_BYTES]
        notes.append(Note(place.path, f"has more than {_MAX_READ_BYTES:,} bytes; only its beginning is read"))
    content = content.removeprefix(codecs.BOM_UTF8)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = content.decode("utf-8", "replace")
        notes.append(Note(place.path, "is not UTF-8; invalid bytes are shown as \ufffd"))
    text = text.replace("\r\n", "\n").rstrip()
    return (text, notes) if text.strip() else ("", [*notes, Note(place.path, "is empty")])


def is_within(path: str, root: str) -> bool:
    """Whether a canonical path is `root` or below it."""
    return path == root or path.startswith(os.path.join(root, ""))
