"""Where a command may write: a private directory of its session, or a directory below one that the user allows.

What a command writes must not be run or obeyed by others later: a directory that an agent names never is, holds or lies
in what the hub reads or writes, and holds no repository.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from skillhub_mcp._util.file_modes import make_private_directory
from skillhub_mcp._util.tempdir import remove_tree
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.skills.roots import is_at_or_below

ARGUMENT = "output_dir"
VARIABLE = "SKILLHUB_OUTPUT_DIR"
PLACEHOLDER = "{output_dir}"

_KEPT_SECONDS = 7 * 24 * 3_600
_MAX_LISTED = 100
_MAX_SEEN = 10_000
_MAX_DEPTH = 32
# Windows has neither, and runs no command.
_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True, slots=True)
class OutputDirectory:
    """An open directory: its real path, its descriptor, and its ctime in nanoseconds when it was opened."""

    path: str
    descriptor: int
    opened_ns: int

    def written(self) -> tuple[str, ...]:
        """Return the files that are new or have changed, sorted, relative to the directory; at most a hundred."""
        found = (
            os.path.join(above, name)
            for above, name, status in _below(self.descriptor)
            # A command can set a file's mtime, and not its ctime.
            if stat.S_ISREG(status.st_mode) and status.st_ctime_ns >= self.opened_ns
        )
        return tuple(sorted(found)[:_MAX_LISTED])


@dataclass(frozen=True, slots=True)
class Outputs:
    """The output directories of one server: private ones in `directory`, and those below the `allowed` ones."""

    directory: str
    allowed: tuple[str, ...] = ()

    def keeps(self, session: Sequence[str]) -> bool:
        """Whether there is a private directory of that session."""
        return os.path.isdir(self._private(session))

    @contextmanager
    def opened(
        self, session: Sequence[str], named: str | None, *, untouched: Sequence[str]
    ) -> Iterator[OutputDirectory]:
        """Yield the directory that an agent named, or the private one of its `session`, made if it is missing.

        A relative name is a directory in the private one. `untouched` are the paths that nothing may be written to.
        Raises InvalidArgument, and OSError if it cannot be made.
        """
        outside = named if named and is_place(named) else None
        place, path = self._allowed(outside, untouched) if outside else self._in_private(session, named)
        descriptor = _made(place, path, named or "")
        try:
            if outside and any(part == ".git" for _, part, _ in _below(descriptor)):
                hint = "name another directory, such as its 'output'"
                raise InvalidArgument(ARGUMENT, f"{named!r} is a repository, or holds one", hint=hint)
            os.utime(descriptor)
            yield OutputDirectory(path, descriptor, os.fstat(descriptor).st_ctime_ns)
        finally:
            os.close(descriptor)

    def _in_private(self, session: Sequence[str], named: str | None) -> tuple[str, str]:
        private = self._private(session)
        if not os.path.isdir(private):
            make_private_directory(self.directory)
            self._remove_old()
            make_private_directory(private)
        os.utime(private)
        private = os.path.realpath(private)
        if named is None:
            return private, private
        parts = named.split("/")
        if any(not part or part.startswith(".") or "\\" in part for part in parts):
            raise InvalidArgument(ARGUMENT, f"{named!r} is not a plain relative path", hint="such as 'reports'")
        return private, os.path.join(private, *parts)

    def _allowed(self, named: str, untouched: Sequence[str]) -> tuple[str, str]:
        path = os.path.realpath(expand_home(named))
        places = map(os.path.realpath, self._outermost())
        around = next((place for place in places if is_at_or_below(path, place)), None)
        if around is None:
            allowed = ", ".join(self.allowed)
            hint = f"allowed are directories below {allowed}" if allowed else "SKILLHUB_OUTPUT_DIRS allows directories"
            hint += "; without it the command has one of its own"
            raise InvalidArgument(ARGUMENT, f"{named!r} is in no allowed place", hint=hint)
        if any(part.startswith(".") and part != "." for part in os.path.relpath(path, around).split(os.sep)):
            raise InvalidArgument(ARGUMENT, f"{named!r} is hidden", hint="name a directory without a leading dot")
        kept = map(os.path.realpath, untouched)
        if any(is_at_or_below(path, place) or is_at_or_below(place, path) for place in kept):
            reason = f"{named!r} holds or lies in what the hub keeps or serves"
            raise InvalidArgument(ARGUMENT, reason, hint="name another directory")
        make_private_directory(around)
        return around, path

    def _outermost(self) -> list[str]:
        """Return the places that lie in no other: one that does could be a link that a command has made there."""
        places = [os.path.abspath(expand_home(place)) for place in self.allowed]
        return [one for one in places if not any(one != other and is_at_or_below(one, other) for other in places)]

    def _private(self, session: Sequence[str]) -> str:
        name = hashlib.sha256("\0".join(session).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return os.path.join(self.directory, name)

    def _remove_old(self) -> None:
        """Remove private directories that were not used for a week."""
        # Another server may remove them at the same time.
        with contextlib.suppress(FileNotFoundError), os.scandir(self.directory) as entries:
            for entry in entries:
                if entry.stat(follow_symlinks=False).st_mtime < time.time() - _KEPT_SECONDS:
                    remove_tree(entry.path)


def is_place(named: str) -> bool:
    """Whether a name is a place of this machine, and not one in a session's directory."""
    return os.path.isabs(expand_home(named))


def with_directory(arguments: Sequence[str], directory: str) -> list[str]:
    """Return a command's arguments with `{output_dir}`, at the beginning of one or after its `=`, as that directory."""
    return [
        directory + argument.removeprefix(PLACEHOLDER)
        if argument.startswith(PLACEHOLDER)
        else argument.replace(f"={PLACEHOLDER}", f"={directory}", 1)
        for argument in arguments
    ]


def _made(around: str, path: str, named: str) -> int:
    """Make a directory in another one and return its descriptor. A link on the way, made meanwhile, is refused."""
    descriptor = os.open(around, _DIRECTORY)
    for part in os.path.relpath(path, around).split(os.sep):
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, mode=0o700, dir_fd=descriptor)
            inner = os.open(part, _DIRECTORY, dir_fd=descriptor)
        except NotADirectoryError as error:  # or a link
            raise InvalidArgument(ARGUMENT, f"{named!r} is a link or not a directory") from error
        finally:
            os.close(descriptor)
        descriptor = inner
    return descriptor


def _below(descriptor: int) -> Iterator[tuple[str, str, os.stat_result]]:
    """Yield what is below a directory, as far as a bounded look goes: its directory, name and status."""
    seen = 0
    for above, directories, files, inner in os.fwalk(".", dir_fd=descriptor):
        for name in sorted((*directories, *files)):
            seen += 1
            with contextlib.suppress(FileNotFoundError):
                status = os.stat(name, dir_fd=inner, follow_symlinks=False)
                yield above.removeprefix(".").removeprefix("/"), name, status
            if seen >= _MAX_SEEN:
                return
        if above.count("/") >= _MAX_DEPTH:
            directories.clear()
