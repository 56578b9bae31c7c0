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

from skillhub_mcp.errors import InvalidArgument

ARGUMENT = "output_dir"
VARIABLE = "SKILLHUB_OUTPUT_DIR"
PLACEHOLDER = "{output_dir}"

_SETTING = "SKILLHUB_OUTPUT_DIRS"
_MAX_KEPT = 200
_KEPT_SECONDS = 7 * 24 * 3_600
_MAX_LISTED = 100
_MAX_SEEN = 10_000

_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class OutputDirectory:
    """One directory that exists, by its real path, and the stamps of its files before the command is run."""

    path: str
    before: Mapping[str, _Stamp] = field(repr=False)

    def written(self) -> tuple[str, ...]:
        """Return the files that are new or have changed, sorted, relative to the directory; at most a hundred."""
        now = _stamps(self.path)
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
            path = self._allowed(os.path.expanduser(named), untouched)
        else:
            path = self._in_private(session, named)
        return OutputDirectory(path, _stamps(path))

    def _in_private(self, session: Sequence[str], named: str | None) -> str:
        private = self._private(session)
        if not os.path.isdir(private):
            os.makedirs(self.directory, mode=0o700, exist_ok=True)
            self._remove_old()
            os.makedirs(private, mode=0o700, exist_ok=True)
        os.utime(private)
        private = os.path.realpath(private)
        if named is None:
            return private
        parts = named.split("/")
        if any(part in ("", ".", "..") or part.startswith(".") or "\\" in part for part in parts):
            raise InvalidArgument(ARGUMENT, f"{named!r} is not a plain relative path", hint="such as 'reports'")
        return _made(private, os.path.join(private, *parts), named)

    def _allowed(self, named: str, untouched: Sequence[str]) -> str:
        path = os.path.realpath(named)
        around = [place for place in map(os.path.realpath, self.allowed) if _is_in(path, place)]
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
        made = _made(around[0], path, named)
        if os.path.lexists(os.path.join(made, ".git")):
            raise InvalidArgument(
                ARGUMENT, f"{named!r} is a repository", hint="name a directory in it, such as its 'output'"
            )
        return made

    def _private(self, session: Sequence[str]) -> str:
        name = hashlib.sha256("\0".join(session).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return os.path.join(self.directory, name)

    def _remove_old(self) -> None:
        """Remove private directories that were not used for a week, and of many the ones used longest ago."""
        from skillhub_mcp.execution.sandbox.confine import remove  # not on Windows, where no command runs

        used = []
        with os.scandir(self.directory) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    used.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
        oldest = time.time() - _KEPT_SECONDS
        for number, (at, path) in enumerate(sorted(used, reverse=True), start=1):
            if at < oldest or number >= _MAX_KEPT:
                with contextlib.suppress(OSError):
                    remove(path)


def is_place(named: str) -> bool:
    """Whether a name is a place of this machine, and not one in a session's directory."""
    return os.path.isabs(os.path.expanduser(named))


def with_directory(arguments: Sequence[str], directory: str) -> list[str]:
    """Return a command's arguments with `{output_dir}`, at the beginning of one or after its `=`, as that directory."""
    return [_with_directory(argument, directory) for argument in arguments]


def _with_directory(argument: str, directory: str) -> str:
    if argument.startswith(PLACEHOLDER):
        return directory + argument.removeprefix(PLACEHOLDER)
    return argument.replace(f"={PLACEHOLDER}", f"={directory}", 1)


def _made(around: str, path: str, named: str) -> str:
    """Make a directory in another one and return its real path, unless a link leads out of that one."""
    # A link that an earlier command left there must not let this one make directories elsewhere.
    real = os.path.realpath(path)
    if not _is_in(real, around):
        raise InvalidArgument(ARGUMENT, f"{named!r} leads out of its place through a link")
    try:
        os.makedirs(real, mode=0o700, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise InvalidArgument(ARGUMENT, f"{named!r} is not a directory") from error
    return real


def _is_in(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip(os.sep) + os.sep)


def _stamps(directory: str) -> dict[str, _Stamp]:
    """Return the stamps of the regular files below a directory, as far as a bounded look goes. Follows no link."""
    found: dict[str, _Stamp] = {}
    for path in itertools.islice(_files(directory), _MAX_SEEN):
        with contextlib.suppress(OSError):
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode):
                name = os.path.relpath(path, directory)
                found[name] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return found


def _files(directory: str) -> Iterator[str]:
    rest = [directory]
    # A command may nest its directories deeper than any recursion, and than a path can be.
    while rest:
        try:
            with os.scandir(rest.pop()) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            continue
        yield from (entry.path for entry in entries)
        rest += (entry.path for entry in reversed(entries) if entry.is_dir(follow_symlinks=False))
