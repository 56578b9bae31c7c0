"""What is a model told of all the skills at once, within a budget? One value, several formats. Pure.

Rule 1: descriptions are shortened, all to one length, before any name is left out.
Rule 2: what has to go goes from the end of the order of importance, and is counted.
Rule 3: the same skills and the same budget give the same bytes.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from skillhub_mcp.disclosure.available_skills import available_skills
from skillhub_mcp.disclosure.sanitization import escaped, shortened, shown_name, visible
from skillhub_mcp.disclosure.token_estimate import estimate_tokens

CatalogueScope = Literal["repo", "user"]

NO_SKILLS = "(no skills available)"


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One skill as a catalogue has it. `path` is its SKILL.md; `importance` sorts, the smallest first, who stays."""

    name: str
    description: str
    path: str
    source: str
    scope: CatalogueScope
    importance: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Budget:
    """What a catalogue may take: entries, and of its whole text bytes of UTF-8 or estimated tokens."""

    max_entries: int | None = None
    max_bytes: int | None = None
    max_tokens: int | None = None

    def holds(self, text: str) -> bool:
        """Whether `text` fits."""
        return (self.max_bytes is None or len(text.encode("utf-8", "replace")) <= self.max_bytes) and (
            self.max_tokens is None or estimate_tokens(text) <= self.max_tokens
        )


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The entries that are shown, and how many were shortened and left out to make them fit.

    `search_tool` and `load_tool` are what a reader is told to call.
    """

    entries: tuple[CatalogueEntry, ...]
    shortened: int = 0
    left_out: int = 0
    search_tool: str = "search_skills"
    load_tool: str = "load_skill"

    @property
    def truncated(self) -> bool:
        """Whether anything is missing."""
        return bool(self.shortened or self.left_out)

    @property
    def note(self) -> str:
        """A line that says what is missing and how to get at it, or nothing."""
        missing = [
            f"{self.left_out:,} more skills are not listed" if self.left_out else "",
            f"{self.shortened:,} descriptions are shortened" if self.shortened else "",
        ]
        said = " and ".join(part for part in missing if part)
        return f"{said}: call {self.search_tool} to find what you need" if said else ""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A catalogue as text, and the value that it was made from. The text is empty where not even the frame fits."""

    text: str
    catalogue: Catalogue


def codelia(catalogue: Catalogue) -> str:
    """Return seed 000 §6.1's `<skills_context>`; nothing where there are no skills."""
    if not catalogue.entries and not catalogue.left_out:
        return ""
    rules = [
        f"Before a task that a skill below may fit, load it with {catalogue.load_tool} and follow it.",
        f"Find skills with {catalogue.search_tool}; load each only once, by its path where names repeat.",
        *([f"{catalogue.note}."] if catalogue.note else []),
    ]
    lines = [
        "<skills_context>",
        "<skills_usage>",
        *(f"  <rule>{escaped(rule)}</rule>" for rule in rules),
        "</skills_usage>",
        f'<skills_catalog scope="initial" truncated="{str(catalogue.truncated).lower()}">',
    ]
    for entry in catalogue.entries:
        lines += [
            "  <skill>",
            f"    <name>{escaped(entry.name)}</name>",
            f"    <description>{escaped(entry.description)}</description>",
            f"    <path>{escaped(entry.path)}</path>",
            f"    <scope>{entry.scope}</scope>",
            "  </skill>",
        ]
    return "\n".join([*lines, "</skills_catalog>", "</skills_context>"])


def specification(catalogue: Catalogue) -> str:
    """Return the Agent Skills specification's `<available_skills>`."""
    lines = ["<available_skills>"]
    for entry in catalogue.entries:
        told = (("name", entry.name), ("description", entry.description), ("location", entry.path))
        fields = [line for tag, text in told for line in (f"<{tag}>", html.escape(text), f"</{tag}>")]
        lines += ["<skill>", *fields, "</skill>"]
    if catalogue.note:
        lines += ["<note>", html.escape(catalogue.note), "</note>"]
    return "\n".join([*lines, "</available_skills>"])


def registry(catalogue: Catalogue) -> str:
    """Return seed 003 §7's lines of name, source and description."""
    text = available_skills((entry.name, entry.source, entry.description) for entry in catalogue.entries)
    return f"{text}\n({catalogue.note})" if catalogue.note else text


def descriptions(catalogue: Catalogue) -> str:
    """Return seed 004's lines `- name: description`."""
    lines = [f"- {one.name}: {one.description}" if one.description else f"- {one.name}" for one in catalogue.entries]
    if catalogue.note:
        lines.append(f"({catalogue.note})")
    return "\n".join(lines) or NO_SKILLS


def as_json(catalogue: Catalogue) -> str:
    """Return the entries as JSON, in one line."""
    skills = [
        {"name": one.name, "description": one.description, "path": one.path, "source": one.source, "scope": one.scope}
        for one in catalogue.entries
    ]
    value = {
        "skills": skills,
        "truncated": catalogue.truncated,
        "shortened": catalogue.shortened,
        "left_out": catalogue.left_out,
    }
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


FORMATS: dict[str, Callable[[Catalogue], str]] = {
    "codelia": codelia,
    "specification": specification,
    "registry": registry,
    "descriptions": descriptions,
    "json": as_json,
}


def fit(
    entries: Sequence[CatalogueEntry],
    budget: Budget,
    render: Callable[[Catalogue], str],
    *,
    search_tool: str = "search_skills",
    load_tool: str = "load_skill",
) -> Rendered:
    """Return as much of `entries` as `budget` holds, in the order given, written by `render`."""
    flat = [replace(one, name=shown_name(one.name), description=visible(one.description)) for one in entries]
    # Python's sort is stable: among equals the earlier one stays.
    order = sorted(range(len(flat)), key=lambda at: flat[at].importance)
    most = _that_may_fit((flat[at].name for at in order), budget)

    def tried(count: int, length: int) -> Rendered:
        kept = [_shortened(flat[at], length) for at in sorted(order[:count])]
        catalogue = Catalogue(
            entries=tuple(entry for entry, _ in kept),
            shortened=sum(cut for _, cut in kept),
            left_out=len(flat) - count,
            search_tool=search_tool,
            load_tool=load_tool,
        )
        return Rendered(render(catalogue), catalogue)

    longest = max((len(flat[at].description) for at in order[:most]), default=0)
    # What fits whole is settled at once, what fits shortened by halving, and only then names begin to go.
    length = greatest(longest, lambda length: budget.holds(tried(most, length).text))
    if length is not None:
        return tried(most, length)
    count = greatest(most, lambda count: budget.holds(tried(count, 0).text))
    if count is None:
        return Rendered("", replace(tried(0, 0).catalogue, left_out=len(flat)))
    return tried(count, 0)


def _that_may_fit(names: Iterable[str], budget: Budget) -> int:
    """Return how many of the names there could be room for: of 100,000, far too many need not be tried."""
    count = size = 0
    for name in names:
        size += len(name.encode("utf-8", "replace")) + 1
        # A token is at most four characters, and a character at most four bytes.
        beyond = (budget.max_bytes is not None and size > budget.max_bytes) or (
            budget.max_tokens is not None and size > budget.max_tokens * 16
        )
        if beyond or count == budget.max_entries:
            break
        count += 1
    return count


def _shortened(entry: CatalogueEntry, length: int) -> tuple[CatalogueEntry, bool]:
    if len(entry.description) <= length:
        return entry, False
    return replace(entry, description=shortened(entry.description, length)), True


def greatest(most: int, fits: Callable[[int], bool]) -> int | None:
    """Return the greatest number from 0 to `most` that fits, or None.

    It takes for granted that what is below one that fits, fits. A mark of a cut may cost two bytes more than what it
    stands for, so the answer may be a little below the greatest; it has been tried, and fits.
    """
    if fits(most):
        return most
    low, high = -1, most
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low if low >= 0 else None
