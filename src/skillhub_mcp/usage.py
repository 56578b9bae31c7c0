"""The usage log: searches, loads and file reads, in a file of JSON lines on this machine, which is never sent anywhere.

A line counts one call: its day, what was done, and the skill. Only with SKILLHUB_USAGE=queries it also has the moment,
and what was searched for and found.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path

from skillhub_mcp._util.file_modes import changeable_by_others
from skillhub_mcp._util.json_lines import JsonLinesLog
from skillhub_mcp.errors import QueriesUnreadable

log = logging.getLogger(__name__)

NAME_A_LOG = "name a usage log; the default one is ~/.skillhub/usage/log.jsonl"
# A load this long after a search is not attributed to the search.
_ATTRIBUTION_SECONDS = 600.0


class UsageLog:
    """Appends to the usage log at `path`, unless others may write it; then a warning is logged once.

    Only `with_queries` it keeps what was searched for. One that is not `asked_for` is silent if it cannot be written.
    """

    def __init__(self, path: str, *, with_queries: bool, asked_for: bool = True) -> None:
        self._path = path
        self._with_queries = with_queries
        self._level = logging.WARNING if asked_for else logging.DEBUG
        self._file = JsonLinesLog(path, label="The usage log", level=self._level)

    @cached_property
    def _is_used(self) -> bool:
        exposure = changeable_by_others(self._path)
        if exposure is not None:
            reason, fix = exposure.reason, exposure.fix
            log.log(self._level, "Nothing is counted in the usage log %s: %s; %s", self._path, reason, fix)
        return exposure is None

    def record_search(self, query: str, found: Sequence[str], *, confident: bool) -> None:
        """Record a search and the handles of the skills that it found."""
        searched = {"query": query, "found": list(found), "confident": confident} if self._with_queries else {}
        self._append(act="search", **searched)

    def record_load(self, skill: str) -> None:
        """Record that a skill's instructions were loaded."""
        self._append(act="load", skill=skill)

    def record_read(self, skill: str, file: str) -> None:
        """Record that a file of a skill was read."""
        self._append(act="read", skill=skill, **({"file": file} if self._with_queries else {}))

    def _append(self, **fields: object) -> None:
        if self._is_used:
            now = datetime.now(timezone.utc)
            moment = {"at": now.isoformat()} if self._with_queries else {}
            self._file.append({"day": f"{now:%Y-%m-%d}", **moment, **fields})


class TokenUses:
    """Records in the file at `path` on which days each token was used, a line a day and token."""

    def __init__(self, path: str) -> None:
        self._file = JsonLinesLog(path, label="The uses of tokens", level=logging.DEBUG)
        self._known: set[tuple[str, str]] = set()

    def record(self, name: str) -> None:
        """Record that a token was accepted."""
        use = (f"{datetime.now(timezone.utc):%Y-%m-%d}", name)
        if use not in self._known:
            self._known.add(use)
            self._file.append({"day": use[0], "token": name})


def last_uses(path: str) -> dict[str, str]:
    """Return the last day on which each token was used; none where nothing was recorded."""
    days: dict[str, str] = {}
    with suppress(OSError):
        for line in Path(path).read_text("utf-8").splitlines():
            with suppress(ValueError, TypeError, KeyError):
                record = json.loads(line)
                name, day = _text(record["token"]), _text(record["day"])
                days[name] = max(days.get(name, ""), day)
    return days


@dataclass
class Usage:
    """A summary of a usage log.

    `since` is its first day. `loads` and `reads` are counts by skill. `queries` counts the searches with their text:
    `chosen` maps a query to the skills that were loaded after a search for it found them; `missed` counts the searches
    for all other queries. `unreadable` are the numbers of the invalid lines.
    """

    since: str = ""
    searches: int = 0
    queries: int = 0
    loads: dict[str, int] = field(default_factory=dict)
    reads: dict[str, int] = field(default_factory=dict)
    chosen: dict[str, list[str]] = field(default_factory=dict)
    missed: dict[str, int] = field(default_factory=dict)
    unreadable: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class _Search:
    at: float
    query: str
    found: Sequence[str]


def read_usage(path: str) -> Usage:
    """Return the summary of the log at `path`. Raises QueriesUnreadable if it cannot be read or others may write it."""
    exposure = changeable_by_others(path)
    if exposure is not None:
        raise QueriesUnreadable(path, 0, f"is not used: {exposure.reason}", hint=exposure.fix)
    usage = Usage()
    searches: list[_Search] = []
    try:
        # Read as bytes: an incomplete character then invalidates its own line only.
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as error:
        raise QueriesUnreadable(path, 0, f"cannot be read: {error.strerror or error}", hint=NAME_A_LOG) from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                _count(json.loads(line.decode("utf-8")), usage, searches)
            except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
                usage.unreadable.append(number)
    usage.missed = dict(Counter(search.query for search in searches if search.query not in usage.chosen))
    usage.queries = len(searches)
    return usage


def _count(record: Mapping[str, object], usage: Usage, searches: list[_Search]) -> None:
    """Add one record to the summary; an invalid one raises and changes nothing."""
    day, act = _text(record["day"]), _text(record["act"])
    at = datetime.fromisoformat(_text(record["at"])).timestamp() if "at" in record else None
    if act == "search":
        if at is not None:
            found = record["found"]
            if not isinstance(found, list):
                raise TypeError(found)
            searches.append(_Search(at, _text(record["query"]), [_text(handle) for handle in found]))
        usage.searches += 1
    else:
        skill = _text(record["skill"])
        counts = {"load": usage.loads, "read": usage.reads}[act]
        counts[skill] = counts.get(skill, 0) + 1
    usage.since = min(usage.since or day, day)
    if act != "load" or at is None:
        return
    # The latest search that found the skill, of whatever process.
    recent = (one for one in reversed(searches) if at - one.at <= _ATTRIBUTION_SECONDS)
    search = next((one for one in recent if skill in one.found), None)
    if search is not None:
        chosen = usage.chosen.setdefault(search.query, [])
        if skill not in chosen:
            chosen.append(skill)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value
