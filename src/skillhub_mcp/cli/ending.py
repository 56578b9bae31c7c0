"""A command that is told to end, or whose terminal is closed, ends as by Ctrl-C, and leaves nothing behind."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Raise KeyboardInterrupt where the system would end this process at once, so that what was fetched is removed and
    git is ended. A signal that somebody ignores, as `nohup` does, stays ignored. For the main thread.
    """
    changed = []
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)
            changed.append(number)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
