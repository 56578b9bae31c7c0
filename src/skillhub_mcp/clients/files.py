"""Read a client's file, and replace it in one step; links, mode and owner are kept."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass

from skillhub_mcp._util.atomic_write import atomic_write
from skillhub_mcp.errors import ClientFileRefused

_MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileAsRead:
    """A client's file: its `path`, the `place` that its links lead to, and its bytes; None if it does not exist.

    `mode` and `owner` (user and group) are those of the file.
    """

    path: str
    place: str
    content: bytes | None
    mode: int | None = None
    owner: tuple[int, int] | None = None

    @property
    def text(self) -> str:
        """The file as text, empty if it does not exist. Raises ClientFileRefused if it is not UTF-8."""
        try:
            return (self.content or b"").decode("utf-8")
        except UnicodeDecodeError as error:
            raise ClientFileRefused(self.path, "it is not in UTF-8") from error


def read_client_file(path: str) -> FileAsRead:
    """Return a client's file as it is now. Raises ClientFileRefused."""
    place = os.path.realpath(path)
    try:
        # Opening a pipe in a project would wait for a writer.
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


def replace_client_file(file: FileAsRead, content: bytes | None) -> None:
    """Replace a file by `content`, or remove it. Raises ClientFileRefused, and leaves the file as it is."""
    try:
        if content is None:
            os.unlink(file.place)
        else:
            os.makedirs(os.path.dirname(file.place), exist_ok=True)
            atomic_write(file.place, content, mode=file.mode, owner=file.owner)
    except OSError as error:
        raise ClientFileRefused(file.path, _reason(error)) from error


def refuse_read_only(file: FileAsRead) -> None:
    """Raise ClientFileRefused for a file that is read-only."""
    if file.mode is not None and not (file.mode & stat.S_IWUSR and os.access(file.place, os.W_OK)):
        raise ClientFileRefused(file.path, "it is read-only")


def refuse_changed(file: FileAsRead) -> None:
    """Raise ClientFileRefused for a file that is no longer what was read."""
    if read_client_file(file.path).content != file.content:
        raise ClientFileRefused(file.path, "it changed since it was read", hint="run the command again")


def _reason(error: OSError) -> str:
    reasons = {errno.ELOOP: "its links form a loop", errno.EISDIR: "it is a directory"}
    return reasons.get(error.errno or 0) or f"{error.strerror or error}"
