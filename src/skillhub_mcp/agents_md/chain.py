"""The initial AGENTS.md of a session: those from the root down, within limits on files and bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillhub_mcp.agents_md.files import FoundAgentsFile, Note, find_agents_file, read_agents_file

# A text is truncated at a line break if that loses less than this fraction (1/4) of its share.
_LINE_BREAK_FRACTION = 4


@dataclass(frozen=True, slots=True)
class AdoptedFile:
    """An AGENTS.md as shown: its text, possibly truncated, and its file."""

    place: FoundAgentsFile
    text: str


@dataclass(frozen=True, slots=True)
class Chain:
    """The files shown, the root's first; the notes on all files; and the mtimes of all files seen, by path."""

    files: tuple[AdoptedFile, ...]
    notes: tuple[Note, ...]
    seen: Mapping[str, int]


def read_chain(directories: Sequence[str], *, root: str, max_files: int, max_bytes: int) -> Chain:
    """Return the AGENTS.md of `directories`, which are ordered from the root down.

    `max_files` counts from the root. All texts share the budget of `max_bytes` bytes fairly: short texts stay whole,
    and a long text does not use up the share of another, so that the nearest file always has one.
    """
    found: list[tuple[FoundAgentsFile, str]] = []
    notes: list[Note] = []
    seen: dict[str, int] = {}
    identities: set[tuple[int, int]] = set()
    for directory in directories:
        place = find_agents_file(directory, root=root)
        if isinstance(place, Note):
            notes.append(place)
        if not isinstance(place, FoundAgentsFile) or place.identity in identities:
            continue
        if len(found) == max_files:
            notes.append(Note(place.path, f"is not shown: there are more than {max_files} files; read it yourself"))
            continue
        identities.add(place.identity)
        text, file_notes = read_agents_file(place)
        notes += file_notes
        if text:
            found.append((place, text))
            seen[place.path] = place.mtime_ms
        elif place.size:
            seen[place.path] = place.mtime_ms
    shares = fair_shares([len(text.encode()) for _, text in found], max_bytes)
    files = []
    for (place, text), share in zip(found, shares, strict=True):
        shown = truncate(text, share)
        if shown != text:
            size = len(text.encode())
            notes.append(
                Note(place.path, f"is truncated to {len(shown.encode()):,} of {size:,} bytes; read it for the rest")
            )
        files.append(AdoptedFile(place, shown))
    return Chain(tuple(files), tuple(notes), seen)


def fair_shares(sizes: Sequence[int], budget: int) -> list[int]:
    """Divide `budget` among `sizes`: each gets at most what it needs, and the rest goes to the others."""
    shares = [0] * len(sizes)
    left = budget
    waiting = sorted(range(len(sizes)), key=lambda at: sizes[at])
    while waiting:
        at = waiting.pop(0)
        shares[at] = min(sizes[at], left // (len(waiting) + 1))
        left -= shares[at]
    return shares


def truncate(text: str, max_bytes: int) -> str:
    """Return the start of `text`, at most `max_bytes` of UTF-8, ending at a line break if one is near."""
    encoded = text.encode()
    if len(encoded) <= max_bytes:
        return text
    kept = encoded[:max_bytes].decode("utf-8", "ignore")
    line_end = kept.rfind("\n")
    if line_end >= 0 and len(kept[line_end:].encode()) * _LINE_BREAK_FRACTION < max_bytes:
        return kept[:line_end]
    return kept
