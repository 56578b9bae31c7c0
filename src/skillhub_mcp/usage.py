"""What was searched for, and what of it was used? An opt-in log on this machine, one JSON object a line.

Nothing reads it but `skillhub stats` and `skillhub eval from-log`, and nothing sends it anywhere.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone

from skillhub_mcp.errors import QueriesUnreadable

log = logging.getLogger(__name__)

# A skill that is loaded this long after it was found was found for something else.
_TOGETHER_SECONDS = 600.0


class UsageLog:
    """Appends to the log at `path`, from any thread and any number of processes."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._failed = False

    def searched(self, query: str, found: Sequence[str], *, confident: bool) -> None:
        """Note a search and the skills that it found, by what they are loaded by."""
        self._note(act="search", query=query, found=list(found), confident=confident)

    def loaded(self, skill: str) -> None:
        """Note that a skill's instructions were given."""
        self._note(act="load", skill=skill)

    def read(self, skill: str, file: str) -> None:
        """Note that a file of a skill was given."""
        self._note(act="read", skill=skill, file=file)

    def _note(self, **noted: object) -> None:
        line = json.dumps({"at": datetime.now(timezone.utc).isoformat(), "process": os.getpid(), **noted})
        try:
            with self._lock:
                os.makedirs(os.path.dirname(self._path) or ".", exist_ok=True)
                # For reading too: what is appended depends on how the file ends.
                end = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
                try:
                    _append(end, line)
                finally:
                    os.close(end)
        except OSError as error:
            # Counting is no reason to fail what is counted; saying so once is enough.
            if not self._failed:
                log.warning("The usage log %s cannot be written: %s", self._path, error.strerror)
            self._failed = True


def _append(end: int, line: str) -> None:
    # A line that another process left half written is ended, or it would spoil this one too.
    left = (b"\n" if _is_torn(end) else b"") + f"{line}\n".encode()
    # One write as a rule, at the end whoever else writes: lines of several processes do not mix.
    while left:
        left = left[os.write(end, left) :]


def _is_torn(end: int) -> bool:
    size = os.fstat(end).st_size
    if size == 0:
        return False
    os.lseek(end, size - 1, os.SEEK_SET)
    return os.read(end, 1) != b"\n"


@dataclass
class Usage:
    """What a log comes to.

    `loads` and `reads` count by skill. `chosen` has for each query the skills that were loaded after a search for it
    had found them; `missed` counts the searches for every other query, whatever they found. `unreadable` are the lines
    that are no notes, counted from 1.
    """

    searches: int = 0
    loads: dict[str, int] = field(default_factory=dict)
    reads: dict[str, int] = field(default_factory=dict)
    chosen: dict[str, list[str]] = field(default_factory=dict)
    missed: dict[str, int] = field(default_factory=dict)
    unreadable: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class _Search:
    at: float
    process: object
    query: str
    found: Sequence[str]


def read_usage(path: str) -> Usage:
    """Return what the log at `path` comes to.

    A line that is no note, as one that was cut short, is left out and told by its number. Raises QueriesUnreadable
    where the file cannot be read at all.
    """
    usage = Usage()
    searches: list[_Search] = []
    for number, line in _lines(path):
        try:
            _count(json.loads(line.decode("utf-8")), usage, searches)
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            usage.unreadable.append(number)
    usage.missed = dict(Counter(search.query for search in searches if search.query not in usage.chosen))
    usage.searches = len(searches)
    return usage


def _count(noted: Mapping[str, object], usage: Usage, searches: list[_Search]) -> None:
    """Add one note to what was counted; one that is none adds nothing."""
    at = datetime.fromisoformat(_text(noted["at"])).timestamp()
    act, process = noted["act"], noted["process"]
    if act == "search":
        found = noted["found"]
        if not isinstance(found, list):
            raise TypeError(found)
        searches.append(_Search(at, process, _text(noted["query"]), [_text(one) for one in found]))
        return
    skill = _text(noted["skill"])
    counts = {"load": usage.loads, "read": usage.reads}[_text(act)]
    counts[skill] = counts.get(skill, 0) + 1
    search = _search_before(skill, at, process, searches) if act == "load" else None
    if search is not None:
        chosen = usage.chosen.setdefault(search.query, [])
        if skill not in chosen:
            chosen.append(skill)


def _search_before(skill: str, at: float, process: object, searches: Sequence[_Search]) -> _Search | None:
    """Return the latest search that found `skill` not long before: of that process, or else of any.

    A server searches and loads in one process; in a shell each is a process of its own.
    """
    elsewhere = None
    for search in reversed(searches):
        if at - search.at > _TOGETHER_SECONDS:
            break
        if skill in search.found:
            if search.process == process:
                return search
            elsewhere = elsewhere or search
    return elsewhere


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _lines(path: str) -> Iterator[tuple[int, bytes]]:
    try:
        # As bytes: half a character spoils its own line and no other.
        with open(path, "rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line
    except OSError as error:
        raise QueriesUnreadable(path, 0, f"cannot be read: {error}") from error
