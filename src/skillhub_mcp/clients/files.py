"""Reading a client's file, and writing it in one step: to its place behind every link, with its mode and owner."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from dataclasses import dataclass

from skillhub_mcp._util.atomic_write import atomic_write
from skillhub_mcp.errors import ClientFileRefused

_MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileAsRead:
    """A client's file as it was read: its `path`, the `place` behind its links, and its bytes; None where it is not.

    `mode` and `owner` (user and group) are those of the file.
    """

    path: str
    place: str
    content: bytes | None
    mode: int | None = None
    owner: tuple[int, int] | None = None

    @property
    def text(self) -> str:
        """The file as text, empty where it is not there. Raises ClientFileRefused where it is not UTF-8."""
        try:
            return (self.content or b"").decode("utf-8")
        except UnicodeDecodeError as error:
            raise ClientFileRefused(self.path, "it is not in UTF-8") from error


def last_that_exists(candidates: tuple[str, ...]) -> str:
    """Return the last of several paths that is there, else the first: later ones are of later versions."""
    return next((path for path in reversed(candidates) if os.path.lexists(path)), candidates[0])


def read_client_file(path: str) -> FileAsRead:
    """Return a client's file as it is now. Raises ClientFileRefused for one that cannot be read."""
    place = os.path.realpath(path)
    try:
        # A project may have a pipe there, on which opening would wait for a writer.
        with open(os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ClientFileRefused(path, "it is not a regular file")
            content = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return FileAsRead(path, place, None)
    except OSError as error:
        raise ClientFileRefused(path, _reason(error)) from error
    if len(content) > _MAX_BYTES:
        raise ClientFileRefused(path, f"it has more than {_MAX_BYTES:,} bytes")
    return FileAsRead(path, place, content, stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid))


def write_client_file(file: FileAsRead, content: bytes) -> None:
    """Replace a file that was read by `content`, and make the directories that it lacks.

    Raises ClientFileRefused, and leaves the file as it is, where it changed since it was read, is read-only, or
    cannot be written with its owner kept.
    """
    refuse_unwritable(file)
    refuse_changed(file)
    directories = missing_directories(os.path.dirname(file.place))
    try:
        for directory in directories:
            # Another command may make it at the same time.
            with contextlib.suppress(FileExistsError):
                os.mkdir(directory)
        atomic_write(file.place, content, mode=file.mode, owner=file.owner)
    except OSError as error:
        remove_directories(directories)
        raise ClientFileRefused(file.path, _reason(error)) from error


def remove_client_file(file: FileAsRead, directories: tuple[str, ...]) -> None:
    """Remove a file that was read, and those of `directories` that are then empty. Raises ClientFileRefused."""
    refuse_unwritable(file)
    refuse_changed(file)
    try:
        os.unlink(file.place)
    except OSError as error:
        raise ClientFileRefused(file.path, _reason(error)) from error
    remove_directories(directories)


def refuse_unwritable(file: FileAsRead) -> None:
    """Raise ClientFileRefused for a file that is read-only, or lies where this process may not write."""
    if file.mode is not None and not (file.mode & stat.S_IWUSR and os.access(file.place, os.W_OK)):
        raise ClientFileRefused(file.path, "it is read-only")
    directory = os.path.dirname(file.place)
    if os.path.islink(file.path) and file.content is None and not os.path.isdir(directory):
        raise ClientFileRefused(file.path, f"it is a link to {file.place}, and there is no such directory")
    while not os.path.lexists(directory):
        directory = os.path.dirname(directory)
    if not os.path.isdir(directory):
        raise ClientFileRefused(file.path, f"{directory} is not a directory")
    if not os.access(directory, os.W_OK):
        raise ClientFileRefused(file.path, f"{directory} cannot be written to")


def refuse_changed(file: FileAsRead) -> None:
    """Raise ClientFileRefused for a file that is no longer what was read."""
    if read_client_file(file.path).content != file.content:
        raise ClientFileRefused(file.path, "it changed since it was read", hint="run the command again")


def remove_directories(directories: tuple[str, ...]) -> None:
    """Remove directories that we made, the inner first, as long as they are empty."""
    for directory in reversed(directories):
        try:
            os.rmdir(directory)
        except OSError:
            # Somebody uses it by now.
            return


def missing_directories(directory: str) -> tuple[str, ...]:
    """Return the directories that are missing on the way to one and itself, the outer first."""
    missing: list[str] = []
    while not os.path.isdir(directory):
        missing.insert(0, directory)
        directory = os.path.dirname(directory)
    return tuple(missing)


def _reason(error: OSError) -> str:
    reasons = {
        errno.ELOOP: "its links lead in a circle",
        errno.EISDIR: "it is a directory",
        errno.EPERM: "it belongs to somebody else, and would not stay theirs",
    }
    return reasons.get(error.errno or 0) or f"{error.strerror or error}"
