"""What does the picker show? Rows of skills, narrowed by what was typed and by scope. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from skillhub_mcp.hub import ListedSkill
from skillhub_mcp.skills.roots import Source

PickerScope = Literal["all", "repo", "user"]

SCOPES: tuple[PickerScope, ...] = ("all", "repo", "user")
NO_MATCH = "(no match)"


@dataclass(frozen=True, slots=True)
class PickerRow:
    """One skill of the picker. `state` is on, off or denied; `text` is what is searched, folded."""

    name: str
    handle: str
    description: str
    directory: str
    source: str
    scope: PickerScope
    state: str
    text: str


def picker_rows(listed: Iterable[ListedSkill]) -> list[PickerRow]:
    """Return the rows of all skills, by name."""
    return [
        PickerRow(
            name=one.skill.name,
            handle=one.handle,
            description=" ".join(one.skill.description.split()),
            directory=one.skill.directory,
            source=one.source.value,
            scope="repo" if one.source is Source.PROJECT else "user",
            state=one.standing.value,
            text=f"{one.skill.name}\n{one.skill.description}\n{one.skill.directory}".casefold(),
        )
        for one in listed
    ]


def narrowed(rows: Sequence[PickerRow], typed: str, scope: PickerScope) -> list[PickerRow]:
    """Return the rows of `scope` whose name, description or path holds every word typed; names that begin so first."""
    words = typed.casefold().split()
    kept = [row for row in rows if scope in ("all", row.scope) and all(word in row.text for word in words)]
    first = words[0] if words else ""
    return sorted(kept, key=lambda row: (not row.name.casefold().startswith(first), row.name, row.directory))


def after(scope: PickerScope) -> PickerScope:
    """Return the scope that comes next when a person goes round: all, repo, user."""
    return SCOPES[(SCOPES.index(scope) + 1) % len(SCOPES)]


def counted(shown: Sequence[PickerRow], rows: Sequence[PickerRow]) -> str:
    """Return how many of how many are shown, and how many are off."""
    off = sum(row.state != "on" for row in shown)
    return f"{len(shown):,} of {len(rows):,} skills" + (f", {off:,} off" if off else "")
