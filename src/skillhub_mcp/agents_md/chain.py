"""What does a session begin with? The AGENTS.md from the root down to here, within bounds of files and bytes (§5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillhub_mcp.agents_md.files import FoundAgentsFile, Note, find, read

# A cut at a line's end is worth so much of the text's share.
_WORTH_A_LINE = 4


@dataclass(frozen=True, slots=True)
class AdoptedFile:
    """An AGENTS.md as it is shown: its text, whole or truncate, and the file that it comes from."""

    place: FoundAgentsFile
    text: str


@dataclass(frozen=True, slots=True)
class Chain:
    """What was adopted, the root's first; what there is to say of the others; and which versions were seen at all."""

    files: tuple[AdoptedFile, ...]
    notes: tuple[Note, ...]
    seen: Mapping[str, int]


def read_chain(directories: Sequence[str], *, root: str, max_files: int, max_bytes: int) -> Chain:
    """Return the AGENTS.md of `directories`, which go from the root down.

    Files are counted from the root. One budget of `max_bytes` runs over all texts together, and is shared so that a
    short text is whole and a long one starves no other: the nearest file always has its share.
    """
    found: list[tuple[FoundAgentsFile, str]] = []
    notes: list[Note] = []
    seen: dict[str, int] = {}
    identities: set[tuple[int, int]] = set()
    for directory in directories:
        place = find(directory, root=root)
        if isinstance(place, Note):
            notes.append(place)
        if not isinstance(place, FoundAgentsFile) or place.identity in identities:
            continue
        if len(found) == max_files:
            notes.append(Note(place.path, f"is not shown, for there are more than {max_files}; read it yourself"))
            continue
        identities.add(place.identity)
        text, said = read(place)
        notes += said
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
                Note(place.path, f"is cut: {len(shown.encode()):,} of {size:,} bytes are shown; read it for the rest")
            )
        files.append(AdoptedFile(place, shown))
    return Chain(tuple(files), tuple(notes), seen)


def fair_shares(sizes: Sequence[int], budget: int) -> list[int]:
    """Return how much of `budget` each of `sizes` gets: as much as it needs, and what is spare goes to the others."""
    shares = [0] * len(sizes)
    left = budget
    waiting = sorted(range(len(sizes)), key=lambda at: sizes[at])
    while waiting:
        at = waiting.pop(0)
        shares[at] = min(sizes[at], left // (len(waiting) + 1))
        left -= shares[at]
    return shares


def truncate(text: str, max_bytes: int) -> str:
    """Return the beginning of `text`, at most `max_bytes` of UTF-8, ending at a line's end where that costs little."""
    encoded = text.encode()
    if len(encoded) <= max_bytes:
        return text
    kept = encoded[:max_bytes].decode("utf-8", "ignore")
    line_end = kept.rfind("\n")
    if line_end >= 0 and len(kept[line_end:].encode()) * _WORTH_A_LINE < max_bytes:
        return kept[:line_end]
    return kept
