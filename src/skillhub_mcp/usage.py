"""What was searched for, and what of it was used? An opt-in log on this machine, one JSON object a line.

Nothing reads it but `skillhub stats`, `skillhub eval from-log` and the card in the server's instructions, and nothing
sends it anywhere.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timezone

from skillhub_mcp.errors import QueriesUnreadable
from skillhub_mcp.json_lines import JsonLinesLog

# A skill that is loaded this long after it was found was found for something else.
_TOGETHER_SECONDS = 600.0
# What is read of a log where an answer waits for it: its end, which tells of some thousands of loads.
_READ_OF_THE_END = 512 * 1024


class UsageLog:
    """Notes what is used in the file at `path`."""

    def __init__(self, path: str) -> None:
        self._journal = JsonLinesLog(path, what="The usage log")

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
        self._journal.note({"at": datetime.now(timezone.utc).isoformat(), "process": os.getpid(), **noted})


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


def loaded_before(path: str, day: date) -> frozenset[str]:
    """Return the skills that were loaded before that day (UTC), as the last part of the log at `path` has it."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _READ_OF_THE_END))
            # The first line may be the end of one, and then it is no note.
            lines = file.read().splitlines()
    except OSError:
        return frozenset()
    loaded = set()
    for line in lines:
        with contextlib.suppress(KeyError, TypeError, ValueError, RecursionError):
            noted = json.loads(line)
            if noted["act"] == "load" and _text(noted["at"]) < day.isoformat():
                loaded.add(_text(noted["skill"]))
    return frozenset(loaded)


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
