"""What was searched for, and what of it was used? An opt-in log on this machine, one JSON object a line.

Nothing reads it but `skillhub stats` and `skillhub eval from-log`, and nothing sends it anywhere.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

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
                # One write of one line, at the end whoever else writes: lines of several processes do not mix.
                end = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                try:
                    os.write(end, f"{line}\n".encode())
                finally:
                    os.close(end)
        except OSError as error:
            # Counting is no reason to fail what is counted; saying so once is enough.
            if not self._failed:
                log.warning("The usage log %s cannot be written: %s", self._path, error.strerror)
            self._failed = True


@dataclass
class Usage:
    """What a log comes to.

    `loads` counts loads by skill, `chosen` the skills that were loaded after each query that found them, and `missed`
    the queries that found nothing that fits, or nothing that was loaded.
    """

    searches: int = 0
    loads: dict[str, int] = field(default_factory=dict)
    reads: dict[str, int] = field(default_factory=dict)
    chosen: dict[str, list[str]] = field(default_factory=dict)
    missed: dict[str, int] = field(default_factory=dict)


@dataclass
class _Search:
    at: float
    process: object
    query: str
    found: Sequence[str]
    confident: bool
    used: bool = False


def read_usage(path: str) -> Usage:
    """Return what the log at `path` comes to. A last line that is cut short is left out; raises QueriesUnreadable."""
    usage = Usage()
    searches: list[_Search] = []
    for number, noted in _notes(path):
        try:
            _count(noted, usage, searches)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise QueriesUnreadable(path, number, "is no note of a use") from error
    for search in searches:
        if not search.used:
            usage.missed[search.query] = usage.missed.get(search.query, 0) + 1
    usage.searches = len(searches)
    return usage


def _count(noted: Mapping[str, object], usage: Usage, searches: list[_Search]) -> None:
    at = datetime.fromisoformat(_text(noted["at"])).timestamp()
    act = noted["act"]
    if act == "search":
        found = noted["found"]
        if not isinstance(found, list):
            raise TypeError(found)
        skills = [_text(one) for one in found]
        searches.append(_Search(at, noted["process"], _text(noted["query"]), skills, noted["confident"] is True))
        return
    skill = _text(noted["skill"])
    counts = {"load": usage.loads, "read": usage.reads}[_text(act)]
    counts[skill] = counts.get(skill, 0) + 1
    if act == "load":
        _link(skill, at, noted["process"], usage, searches)


def _link(skill: str, at: float, process: object, usage: Usage, searches: Sequence[_Search]) -> None:
    """Note that `skill` was chosen for the last query of that process that found it, if that was not long ago."""
    for search in reversed(searches):
        if at - search.at > _TOGETHER_SECONDS:
            return
        if search.process == process and skill in search.found:
            search.used = True
            chosen = usage.chosen.setdefault(search.query, [])
            if skill not in chosen:
                chosen.append(skill)
            return


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _notes(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise QueriesUnreadable(path, 0, f"cannot be read: {error}") from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                if number == len(lines):
                    return
                raise QueriesUnreadable(path, number, f"is no JSON: {error}") from error
