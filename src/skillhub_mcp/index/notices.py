"""What changed below directories, as the operating system tells: to this process, or to one of its own.

Setting a watch on each of 100,000 directories takes seconds, for which `watchfiles` keeps the interpreter to itself: a
server would answer nobody meanwhile. Of many directories another process has the notices, and hands them on.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, NamedTuple, cast

_COMMAND = "__watch"
_DEBOUNCE_MS = 150
_STEP_MS = 50
_END_SECONDS = 5.0
_STDIN, _READ_BYTES = 0, 1 << 16
# What Python and watchfiles read. What else there is, such as a provider's key, is none of that process's business.
_VARIABLES = frozenset({"HOME", "LANG", "PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "USERPROFILE"})
_PREFIXES = ("LC_", "PYTHON", "WATCHFILES_")


class Notice(NamedTuple):
    """One path that changed, and whether it is gone."""

    path: str
    deleted: bool


def notices(paths: Sequence[str], end: threading.Event, on_set: Callable[[], None]) -> Iterator[set[Notice]]:
    """Yield what changed below the `paths`, of which `on_set` is told that all are watched, until `end` is set.

    Raises OSError and RuntimeError where they cannot be watched.
    """
    from watchfiles import Change, watch

    changes = watch(
        *paths,
        watch_filter=None,
        debounce=_DEBOUNCE_MS,
        step=_STEP_MS,
        # Without a timeout: watchfiles drops a notification that arrives just as a timeout ends.
        rust_timeout=0,
        stop_event=_WatchesSet(end, on_set),
        raise_interrupt=False,
        ignore_permission_denied=True,
    )
    for found in changes:
        yield {Notice(path, change is Change.deleted) for change, path in found}


def notices_from_outside(
    paths: Sequence[str], end: threading.Event, on_set: Callable[[], None]
) -> Iterator[set[Notice]]:
    """Yield the same as `notices`, from a process that ends with this one. Raises the same."""
    main = os.path.join(os.path.dirname(os.path.dirname(__file__)), "__main__.py")
    process = subprocess.Popen(
        [sys.executable, main, _COMMAND],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=_environment(os.environ),
        # Who presses Control-C ends the server, which ends this one.
        start_new_session=True,
    )
    asked, told = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
    ending = threading.Thread(target=_end_with, args=(end, asked), name="skillhub-watch-end", daemon=True)
    try:
        asked.write(json.dumps(list(paths)).encode() + b"\n")
        asked.flush()
        # It closes what was written to just now.
        ending.start()
        for line in told:
            match json.loads(line):
                case None:
                    on_set()
                case str(refused):
                    raise OSError(refused)
                case found:
                    yield {Notice(*one) for one in found}
        if not end.is_set():
            raise OSError("the process that watches them has ended")
    finally:
        end.set()
        if ending.ident is None:
            _end_with(end, asked)
        else:
            ending.join()
        told.close()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def hand_on() -> int:
    """Print the notices of the directories that the first line of input names, a line each, until the input ends."""
    asked = b""
    while not asked.endswith(b"\n"):
        asked += (read := os.read(_STDIN, _READ_BYTES))
        if not read:
            return 1
    end = threading.Event()
    threading.Thread(target=_wait_for_end, args=(end,), daemon=True).start()
    try:
        for found in notices(json.loads(asked), end, lambda: _tell(None)):
            _tell(sorted(found))
    except BrokenPipeError:
        return 1
    except (OSError, RuntimeError) as error:
        _tell(str(error))
    return 0


def _end_with(end: threading.Event, stdin: IO[bytes]) -> None:
    end.wait()
    with contextlib.suppress(OSError):
        stdin.close()


def _wait_for_end(end: threading.Event) -> None:
    # Past the buffer: at the end of Python nobody may be reading into it.
    while os.read(_STDIN, _READ_BYTES):
        pass
    end.set()


def _tell(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value for name, value in variables.items() if name.upper() in _VARIABLES or name.startswith(_PREFIXES)
    }


class _WatchesSet:
    """The stop event of `watch`, which polls it only after setting every watch: calls `on_set` at the first poll."""

    def __init__(self, end: threading.Event, on_set: Callable[[], None]) -> None:
        self._end = end
        self._on_set: Callable[[], None] | None = on_set

    def is_set(self) -> bool:
        if self._end.is_set():
            return True
        on_set, self._on_set = self._on_set, None
        if on_set is not None:
            on_set()
        return False
