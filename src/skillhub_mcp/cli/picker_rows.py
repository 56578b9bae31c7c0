"""The rows of the skill picker, filtered by text and scope. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from skillhub_mcp.hub import ListedSkill
from skillhub_mcp.skills.names import fold_name
from skillhub_mcp.skills.roots import Source

PickerScope = Literal["all", "repo", "user"]

SCOPES: tuple[PickerScope, ...] = ("all", "repo", "user")
NO_MATCH = "(no match)"


@dataclass(frozen=True, slots=True)
class PickerRow:
    """One skill in the picker. `state` is on, off or denied; `text` is the folded text that is searched."""

    name: str
    handle: str
    description: str
    directory: str
    source: str
    scope: PickerScope
    state: str
    text: str


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


def filter_rows(rows: Sequence[PickerRow], typed: str, scope: PickerScope) -> list[PickerRow]:
    """Return the rows of `scope` whose name, description or path contains every word typed.

    Rows whose name starts with the first word come first.
    """
    words = fold_name(typed).split()
    kept = [row for row in rows if scope in ("all", row.scope) and all(word in row.text for word in words)]
    first = words[0] if words else ""
    return sorted(kept, key=lambda row: (not fold_name(row.name).startswith(first), row.name, row.directory))


def next_scope(scope: PickerScope) -> PickerScope:
    """Return the scope after `scope`, in the cycle all, repo, user."""
    return SCOPES[(SCOPES.index(scope) + 1) % len(SCOPES)]


def count_text(shown: Sequence[PickerRow], rows: Sequence[PickerRow]) -> str:
    """Return the number of rows shown, of all rows, and of those shown that are off."""
    off = sum(row.state != "on" for row in shown)
    return f"{len(shown):,} of {len(rows):,} skills" + (f", {off:,} off" if off else "")
