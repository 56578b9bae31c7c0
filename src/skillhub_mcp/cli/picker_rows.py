"""The rows of the skill picker: which fit what was typed, and in which order. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from skillhub_mcp.hub import ListedSkill, SearchAnswer
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.skills.names import fold_name, typed_command
from skillhub_mcp.skills.roots import Source

PickerScope = Literal["all", "repo", "user"]

SCOPES: tuple[PickerScope, ...] = ("all", "repo", "user")
NO_MATCH = "(no match)"

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class PickerRow:
    """One skill in the picker. `state` is on, off or denied; `text` is the folded text that is matched."""

    name: str
    handle: str
    description: str
    directory: str
    source: str
    scope: PickerScope
    state: str
    text: str


@dataclass(frozen=True, slots=True)
class SearchedFor:
    """What the hub's search found: directories, best first. Near misses are found if nothing fits."""

    directories: tuple[str, ...] = ()
    near_misses: tuple[str, ...] = ()


NOT_SEARCHED = SearchedFor()


def searched_for(answer: SearchAnswer) -> SearchedFor:
    """Return what an answer found. A query without a word lists skills by name and finds nothing."""
    if answer.facets is not None:
        return NOT_SEARCHED
    found = tuple(hit.skill.directory for hit in answer.hits)
    return SearchedFor(found) if answer.confident else SearchedFor(near_misses=found)


def picker_rows(listed: Iterable[ListedSkill]) -> list[PickerRow]:
    """Return the rows of the skills, in the given order."""
    return [
        PickerRow(
            name=one.skill.name,
            handle=one.handle,
            description=" ".join(one.skill.description.split()),
            directory=one.skill.directory,
            source=one.source.value,
            scope="repo" if one.source is Source.PROJECT else "user",
            state=one.standing.value,
            text=fold_name(f"{one.skill.name}\n{one.skill.description}\n{one.skill.directory}"),
        )
        for one in listed
    ]


def fitting_rows(
    rows: Sequence[PickerRow], typed: str, scope: PickerScope, found: SearchedFor = NOT_SEARCHED
) -> list[PickerRow]:
    """Return the rows of `scope` that fit what was `typed`, best first; with nothing typed, all by name.

    Names whose words begin with every word typed come first, then what the hub's search found, then rows that contain
    every word in name, description or path.
    """
    among = _among(rows, scope)
    whole = fold_name(typed).strip()
    words = whole.split()
    if not words:
        return sorted(among, key=lambda row: (row.name, row.directory))
    places = {directory: place for place, directory in enumerate(found.directories)}
    ranked = []
    for row in among:
        begins = _beginnings(row.name)
        place = places.get(row.directory, len(places))
        if all(any(part.startswith(word) for part in begins) for word in words):
            ranked.append(((0, begins[0] != whole, not begins[0].startswith(words[0]), place), row))
        elif row.directory in places:
            ranked.append(((1, False, False, place), row))
        elif all(word in row.text for word in words):
            ranked.append(((2, False, False, place), row))
    ranked.sort(key=lambda one: (one[0], one[1].name, one[1].directory))
    return [row for _, row in ranked]


def nearest_rows(rows: Sequence[PickerRow], scope: PickerScope, found: SearchedFor) -> list[PickerRow]:
    """Return the near misses in `scope`, best first, which are shown if no row fits."""
    by_directory = {row.directory: row for row in _among(rows, scope)}
    return [by_directory[directory] for directory in found.near_misses if directory in by_directory]


def _among(rows: Sequence[PickerRow], scope: PickerScope) -> list[PickerRow]:
    return [row for row in rows if scope in ("all", row.scope)]


def count_text(shown: Sequence[PickerRow], rows: Sequence[PickerRow]) -> str:
    """Return the number of rows shown, of all rows, and of those shown that are off or denied."""
    states = [(state, sum(row.state == state for row in shown)) for state in ("off", "denied")]
    others = "".join(f", {count:,} {state}" for state, count in states if count)
    return f"{len(shown):,} of {len(rows):,} skills{others}"


def warning_about(row: PickerRow) -> str:
    """Return a warning if agents do not get the skill; empty for one that is on."""
    name = in_line(row.name)
    enable, why = (in_line(typed_command(f"skillhub {verb}", row.handle)) for verb in ("enable", "why"))
    return {
        "off": f"{name} is off: agents neither find nor load it; {enable}",
        "denied": f"{name} is denied by a rule: agents neither find nor load it; {why}",
    }.get(row.state, "")


@lru_cache(maxsize=65_536)
def _beginnings(name: str) -> tuple[str, ...]:
    folded = fold_name(name)
    return (folded, *_WORD.findall(folded))
