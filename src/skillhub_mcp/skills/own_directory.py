"""The directory in a root that is the hub's own: what is being installed, what was removed, the journal of a change.

It is hidden, so that no walk finds a skill in it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

OWN_DIRECTORY = ".skillhub"
JOURNAL = "journal.json"
# A change is made in milliseconds. What is older was interrupted, and waits for the next command.
_CHANGE_SECONDS = 5.0
_WAIT_SECONDS = 2.0
_STEP_SECONDS = 0.01


def journal_path(root: str) -> str:
    """Return the path of the journal of the change that a command is making in `root`."""
    return os.path.join(root, OWN_DIRECTORY, JOURNAL)


def has_journal(root: str) -> bool:
    """Whether a command is changing `root` at this moment, or was interrupted. Costs one look at one path."""
    return os.path.lexists(journal_path(root))


def is_being_changed(root: str) -> bool:
    """Whether a command is exchanging skills of `root` at this moment, and was not interrupted a while ago."""
    try:
        return abs(time.time() - os.lstat(journal_path(root)).st_mtime) < _CHANGE_SECONDS
    except OSError:
        return False


def wait_while_changed(root: str, still: Callable[[], bool] = lambda: True) -> bool:
    """Wait until no command is exchanging skills of `root`, or until `still` is false, for two seconds at most.

    Return whether there was anything to wait for.
    """
    deadline = time.monotonic() + _WAIT_SECONDS
    waited = False
    while still() and is_being_changed(root) and time.monotonic() < deadline:
        waited = True
        time.sleep(_STEP_SECONDS)
    return waited


def is_own(path: str, root: str) -> bool:
    """Whether `path` is the hub's own directory in `root`, or below it. Compares the paths only."""
    own = os.path.join(root, OWN_DIRECTORY)
    return path == own or path.startswith(own + os.sep)
