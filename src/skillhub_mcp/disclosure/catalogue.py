"""The catalogue within a budget: descriptions are shortened first, then skills left out. Deterministic."""

from __future__ import annotations

import bisect
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from skillhub_mcp._util.wording import plural
from skillhub_mcp.sanitize import for_model, in_element, in_json, path_for_model, shortened, visible
from skillhub_mcp.skills.names import shown_name

# English prose and code are about four characters per token in current tokenizers; a Chinese, Japanese or Korean
# character is about one token by itself, and so is an emoji.
_CHARACTERS_PER_TOKEN = 4
# In UTF-8 those characters start with these bytes, and counting bytes is many times as fast as matching characters.
_OWN_TOKEN = frozenset((*range(0xE3, 0xEE), *range(0xF0, 0xF5)))
_OTHER_BYTES = bytes(byte for byte in range(256) if byte not in _OWN_TOKEN)


def estimate_tokens(text: str) -> int:
    """Return the estimated number of tokens, within 25 % for prose; 0 for an empty text."""
    single = 0 if text.isascii() else len(text.encode("utf-8", "replace").translate(None, _OTHER_BYTES))
    return single + -(-(len(text) - single) // _CHARACTERS_PER_TOKEN)


CatalogueScope = Literal["repo", "user"]

NO_SKILLS = "(no skills available)"
AVAILABLE_SKILLS = "Available Skills:"
MIN_DESCRIPTION = 60
# One character and an ellipsis, for a single skill.
_SHORTEST = 2


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One skill in a catalogue. `path` is its SKILL.md; the skills with the smallest `importance` are kept first."""

    name: str
    description: str
    path: str
    source: str
    scope: CatalogueScope
    importance: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Budget:
    """The bounds of a catalogue: entries, and UTF-8 bytes and estimated tokens of the whole text; None is no bound."""

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
    """The entries shown, and how many descriptions were shortened and skills left out."""

    entries: tuple[CatalogueEntry, ...]
    shortened: int = 0
    left_out: int = 0
    search_tool: str = "search_skills"
    load_tool: str = "load_skill"

    @property
    def truncated(self) -> bool:
        """Whether anything was shortened or left out."""
        return bool(self.shortened or self.left_out)

    @property
    def note(self) -> str:
        """A line that says what is missing and how to find it."""
        missing = [
            _are(self.left_out, "more skill", "not listed"),
            _are(self.shortened, "description", "shortened"),
        ]
        text = " and ".join(part for part in missing if part)
        return f"{text}: call {self.search_tool} to find what you need" if text else ""


def _are(count: int, thing: str, what: str) -> str:
    return f"{plural(count, thing)} {'is' if count == 1 else 'are'} {what}" if count else ""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A catalogue as text, empty if not even its frame fits, and its value."""

    text: str
    catalogue: Catalogue


def render_codelia(catalogue: Catalogue) -> str:
    """Return `<skills_context>`, the catalogue of the agent-context tools; empty without skills."""
    if not catalogue.entries and not catalogue.left_out:
        return ""
    rules = [
        f"Before a task that matches a skill below, load the skill with {catalogue.load_tool} and follow it.",
        f"Find skills with {catalogue.search_tool}. Load a skill once; use its path if its name is not unique.",
        *([f"{catalogue.note}."] if catalogue.note else []),
    ]
    lines = [
        "<skills_context>",
        "<skills_usage>",
        *(f"  <rule>{in_element(rule)}</rule>" for rule in rules),
        "</skills_usage>",
        f'<skills_catalog scope="initial" truncated="{str(catalogue.truncated).lower()}">',
    ]
    for entry in catalogue.entries:
        lines += [
            "  <skill>",
            f"    <name>{in_element(entry.name)}</name>",
            f"    <description>{in_element(entry.description)}</description>",
            f"    <path>{in_element(entry.path)}</path>",
            f"    <scope>{entry.scope}</scope>",
            "  </skill>",
        ]
    return "\n".join([*lines, "</skills_catalog>", "</skills_context>"])


def render_specification(catalogue: Catalogue) -> str:
    """Return the Agent Skills specification's `<available_skills>`."""
    lines = ["<available_skills>"]
    for entry in catalogue.entries:
        values = (("name", entry.name), ("description", entry.description), ("location", entry.path))
        fields = [line for tag, text in values for line in (f"<{tag}>", in_element(text, quotes=True), f"</{tag}>")]
        lines += ["<skill>", *fields, "</skill>"]
    if catalogue.note:
        lines += ["<note>", in_element(catalogue.note, quotes=True), "</note>"]
    return "\n".join([*lines, "</available_skills>"])


def render_registry(catalogue: Catalogue) -> str:
    """Return the registry's list: lines of name, source and description."""
    text = render_available_skills((entry.name, entry.source, entry.description) for entry in catalogue.entries)
    return f"{text}\n({catalogue.note})" if catalogue.note else text


def render_descriptions(catalogue: Catalogue) -> str:
    """Return the Skill tool's lines `- name: description`."""
    lines = [
        f"- {entry.name}: {for_model(entry.description)}" if entry.description else f"- {entry.name}"
        for entry in catalogue.entries
    ]
    if catalogue.note:
        lines.append(f"({catalogue.note})")
    return "\n".join(lines) or NO_SKILLS


def render_json(catalogue: Catalogue) -> str:
    """Return the entries as JSON, on one line."""
    skills = [
        {
            "name": entry.name,
            "description": for_model(entry.description),
            "path": path_for_model(entry.path),
            "source": entry.source,
            "scope": entry.scope,
        }
        for entry in catalogue.entries
    ]
    value = {
        "skills": skills,
        "truncated": catalogue.truncated,
        "shortened": catalogue.shortened,
        "left_out": catalogue.left_out,
    }
    return in_json(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def render_available_skills(skills: Iterable[tuple[str, str, str]]) -> str:
    """Return the registry's list of `(name, source, description)`, in which no value imitates markup or a field."""
    lines = [
        f"- name={_escaped(name)} | source={_escaped(source)} | description={_escaped(text)}"
        for name, source, text in skills
    ]
    return "\n".join([AVAILABLE_SKILLS, *lines] if lines else [f"{AVAILABLE_SKILLS} (none)"])


def _escaped(text: str) -> str:
    return in_element(visible(text)).replace("|", "&#124;")


FORMATS: dict[str, Callable[[Catalogue], str]] = {
    "codelia": render_codelia,
    "specification": render_specification,
    "registry": render_registry,
    "descriptions": render_descriptions,
    "json": render_json,
}


def fit(
    entries: Sequence[CatalogueEntry],
    budget: Budget,
    render: Callable[[Catalogue], str],
    *,
    search_tool: str = "search_skills",
    load_tool: str = "load_skill",
) -> Rendered:
    """Return as many of `entries` as `budget` holds, in the order given, rendered by `render`."""
    order = sorted(range(len(entries)), key=lambda index: entries[index].importance)
    safe = _first_safe((entries[index] for index in order), budget)
    most = len(safe)
    longest = max((len(entry.description) for entry in safe), default=0)

    def rendered(count: int, length: int) -> Rendered:
        kept = [safe[rank] for rank in sorted(range(count), key=order.__getitem__)]
        catalogue = Catalogue(
            entries=tuple(replace(entry, description=shortened(entry.description, length)) for entry in kept),
            shortened=sum(len(entry.description) > length for entry in kept),
            left_out=len(entries) - count,
            search_tool=search_tool,
            load_tool=load_tool,
        )
        return Rendered(render(catalogue), catalogue)

    def fits(count: int, length: int) -> bool:
        # Shortened descriptions need a note, and may take more bytes than whole ones.
        return budget.holds(rendered(count, length).text) or budget.holds(rendered(count, longest).text)

    def longest_fitting(count: int, shortest: int) -> int | None:
        """Return the greatest length of descriptions at which `count` entries fit, or None."""
        more = largest_fitting(max(0, longest - shortest), lambda more: fits(count, shortest + more))
        return None if more is None else shortest + more

    count = largest_fitting(most, lambda count: fits(count, MIN_DESCRIPTION)) or 0
    length = longest_fitting(count, MIN_DESCRIPTION) if count else None
    if length is None and most:
        count, length = 1, longest_fitting(1, _SHORTEST)
    if length is not None:
        return rendered(count, length)
    nothing = rendered(0, 0)
    return nothing if budget.holds(nothing.text) else replace(nothing, text="")


def _first_safe(entries: Iterable[CatalogueEntry], budget: Budget) -> list[CatalogueEntry]:
    """Return the first entries with sanitized texts, as many as could fit at most."""
    safe: list[CatalogueEntry] = []
    size = 0
    for entry in entries:
        name, description = shown_name(entry.name), visible(entry.description)
        size += len(f"{name}{shortened(description, MIN_DESCRIPTION)}".encode("utf-8", "replace")) + 1
        # A token is at most four characters, and a character at most four bytes.
        exceeded = (budget.max_bytes is not None and size > budget.max_bytes) or (
            budget.max_tokens is not None and size > budget.max_tokens * 16
        )
        # The first may be shortened further.
        if (exceeded and safe) or len(safe) == budget.max_entries:
            break
        safe.append(replace(entry, name=name, description=description))
    return safe


def largest_fitting(most: int, fits: Callable[[int], bool]) -> int | None:
    """Return the greatest number from 0 to `most` that fits, or None, by binary search."""
    if fits(most):
        return most
    # The first number that does not fit.
    first = bisect.bisect_left(range(most), True, key=lambda number: not fits(number))
    return first - 1 if first else None
