"""Where a command may write: a private directory of its session, or a directory below one that the person allows.

A directory that an agent names is made if it is not there. It never is, holds or lies in what the hub itself reads or
writes, and holds no repository: what a sandboxed command writes there must not be run or obeyed by others later.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from skillhub_mcp._util.file_modes import make_private_directory
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.execution.removal import remove_directory

ARGUMENT = "output_dir"
VARIABLE = "SKILLHUB_OUTPUT_DIR"
PLACEHOLDER = "{output_dir}"

_SETTING = "SKILLHUB_OUTPUT_DIRS"
_MAX_KEPT = 200
_KEPT_SECONDS = 7 * 24 * 3_600
_MAX_LISTED = 100
_MAX_SEEN = 10_000
# A command may nest its directories deeper than any recursion, and than a path can be.
_MAX_DEPTH = 32
_GIT = ".git"
# Windows has neither, and runs no command.
_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)

_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class OutputDirectory:
    """One directory that exists: its real path, its device and number, and the stamps of its files before the run."""

    path: str
    identity: tuple[int, int]
    before: Mapping[str, _Stamp] = field(repr=False)

    def written(self) -> tuple[str, ...]:
        """Return the files that are new or have changed, sorted, relative to the directory; at most a hundred.

        They are none where another directory or a link has taken its place.
        """
        try:
            descriptor = os.open(self.path, _DIRECTORY)
        except OSError:
            return ()
        try:
            now = _stamps(descriptor) if _identity(descriptor) == self.identity else {}
        finally:
            os.close(descriptor)
        return tuple(sorted(name for name, found in now.items() if self.before.get(name) != found)[:_MAX_LISTED])


@dataclass(frozen=True, slots=True)
class Outputs:
    """The output directories of one server: private ones in `directory`, and those below the `allowed` ones."""

    directory: str
    allowed: tuple[str, ...] = ()

    def keeps(self, session: Sequence[str]) -> bool:
        """Whether there is a private directory of that session."""
        return os.path.isdir(self._private(session))

    def open(self, session: Sequence[str], named: str | None, *, untouched: Sequence[str]) -> OutputDirectory:
        """Return the directory that an agent named, or the private one of its `session`, made if it is not there.

        A relative name is a directory in the private one. `untouched` are the paths that nothing may be written to.
        Raises InvalidArgument, and OSError where it cannot be made.
        """
        if named is not None and is_place(named):
            return self._allowed(expand_home(named), untouched)
        return self._in_private(session, named)

    def _in_private(self, session: Sequence[str], named: str | None) -> OutputDirectory:
        private = self._private(session)
        if not os.path.isdir(private):
            make_private_directory(self.directory)
            self._remove_old()
            make_private_directory(private)
        os.utime(private)
        private = os.path.realpath(private)
        if named is None:
            return _made(private, private, "")
        parts = named.split("/")
        if any(part in ("", ".", "..") or part.startswith(".") or "\\" in part for part in parts):
            raise InvalidArgument(ARGUMENT, f"{named!r} is not a plain relative path", hint="such as 'reports'")
        return _made(private, os.path.join(private, *parts), named)

    def _allowed(self, named: str, untouched: Sequence[str]) -> OutputDirectory:
        path = os.path.realpath(named)
        around = [place for place in map(os.path.realpath, self._outermost()) if _is_in(path, place)]
        if not around:
            allowed = ", ".join(self.allowed)
            hint = f"allowed are directories below {allowed}" if allowed else f"{_SETTING} allows directories"
            raise InvalidArgument(
                ARGUMENT, f"{named!r} is in no allowed place", hint=f"{hint}; without it the command has one of its own"
            )
        below = os.path.relpath(path, around[0])
        if any(part.startswith(".") and part != "." for part in below.split(os.sep)):
            raise InvalidArgument(ARGUMENT, f"{named!r} is hidden", hint="name a directory without a leading dot")
        for place in map(os.path.realpath, untouched):
            if _is_in(path, place) or _is_in(place, path):
                raise InvalidArgument(
                    ARGUMENT, f"{named!r} holds or lies in what the hub keeps or serves", hint="name another directory"
                )
        return _made(around[0], path, named, with_repository=False)

    def _outermost(self) -> Iterator[str]:
        """Yield the places that lie in no other: one that does could be a link that a command has made there."""
        places = [os.path.abspath(expand_home(place)) for place in self.allowed]
        for place in places:
            if not any(place != other and _is_in(place, other) for other in places):
                yield place

    def _private(self, session: Sequence[str]) -> str:
        name = hashlib.sha256("\0".join(session).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return os.path.join(self.directory, name)

    def _remove_old(self) -> None:
        """Remove private directories that were not used for a week, and of many the ones used longest ago."""
        used = []
        with os.scandir(self.directory) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    used.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
        oldest = time.time() - _KEPT_SECONDS
        for number, (at, path) in enumerate(sorted(used, reverse=True), start=1):
            if at < oldest or number >= _MAX_KEPT:
                with contextlib.suppress(OSError):
                    remove_directory(path)


def is_place(named: str) -> bool:
    """Whether a name is a place of this machine, and not one in a session's directory."""
    return os.path.isabs(expand_home(named))


def with_directory(arguments: Sequence[str], directory: str) -> list[str]:
    """Return a command's arguments with `{output_dir}`, at the beginning of one or after its `=`, as that directory."""
    return [_with_directory(argument, directory) for argument in arguments]


def _with_directory(argument: str, directory: str) -> str:
    if argument.startswith(PLACEHOLDER):
        return directory + argument.removeprefix(PLACEHOLDER)
    return argument.replace(f"={PLACEHOLDER}", f"={directory}", 1)


def _made(around: str, path: str, named: str, *, with_repository: bool = True) -> OutputDirectory:
    """Make a directory in another one, unless a link leads out of that one.

    Commands that are running may put links in the place of directories meanwhile: each is opened by its descriptor.
    """
    real = os.path.realpath(path)
    if not _is_in(real, around):
        raise InvalidArgument(ARGUMENT, f"{named!r} leads out of its place through a link")
    make_private_directory(around)
    descriptor = os.open(around, _DIRECTORY)
    try:
        for part in os.path.relpath(real, around).split(os.sep):
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, mode=0o700, dir_fd=descriptor)
            inner = os.open(part, _DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        if not with_repository and _has_repository(descriptor):
            raise InvalidArgument(
                ARGUMENT,
                f"{named!r} is a repository, or holds one",
                hint="name another directory, such as its 'output'",
            )
        return OutputDirectory(real, _identity(descriptor), _stamps(descriptor))
    except NotADirectoryError as error:  # or a link
        raise InvalidArgument(ARGUMENT, f"{named!r} is not a directory") from error
    finally:
        os.close(descriptor)


def _is_in(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip(os.sep) + os.sep)


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _has_repository(descriptor: int) -> bool:
    """Whether git would take a directory, or one of those in it as far as a bounded look goes, for a repository."""
    return any(path.rpartition("/")[2] == _GIT for path, _ in itertools.islice(_entries(descriptor), _MAX_SEEN))


def _stamps(descriptor: int) -> dict[str, _Stamp]:
    """Return the stamps of the regular files below a directory, as far as a bounded look goes. Follows no link."""
    return {
        path: (status.st_mtime_ns, status.st_size, status.st_ino)
        for path, status in itertools.islice(_entries(descriptor), _MAX_SEEN)
        if stat.S_ISREG(status.st_mode)
    }


def _entries(descriptor: int, above: str = "", depth: int = 1) -> Iterator[tuple[str, os.stat_result]]:
    """Yield what is below a directory with its status, the files of each directory before what is in its directories.

    By descriptors, so that no link that takes a directory's place meanwhile is followed.
    """
    directories = []
    try:
        with os.scandir(descriptor) as found:
            # However many there are, no more than these are held.
            for entry in sorted(itertools.islice(found, _MAX_SEEN), key=lambda entry: entry.name):
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    yield above + entry.name, status
                    if stat.S_ISDIR(status.st_mode) and depth < _MAX_DEPTH:
                        directories.append(entry.name)
    except OSError:
        return
    for name in directories:
        try:
            inner = os.open(name, _DIRECTORY, dir_fd=descriptor)
        except OSError:
            continue
        try:
            yield from _entries(inner, f"{above}{name}/", depth + 1)
        finally:
            os.close(inner)
