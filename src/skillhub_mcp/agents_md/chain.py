"""The initial AGENTS.md of a session: those from the root down, within limits on files and bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillhub_mcp.agents_md.files import FoundAgentsFile, Note, find_agents_file, read_agents_file


@dataclass(frozen=True, slots=True)
class Chain:
    """The files shown with their texts, the notes, and the mtimes by path of the files that were read."""

    files: tuple[tuple[FoundAgentsFile, str], ...]
    notes: tuple[Note, ...]
    seen: Mapping[str, int]


def read_chain(directories: Sequence[str], *, root: str, max_files: int, max_bytes: int) -> Chain:
    """Return the AGENTS.md of `directories` within limits; the last one is cut, and others are named in a note."""
    files: list[tuple[FoundAgentsFile, str]] = []
    notes: list[Note] = []
    seen: dict[str, int] = {}
    identities: set[tuple[int, int]] = set()
    left = max_bytes
    for directory in directories:
        place = find_agents_file(directory, root=root)
        if isinstance(place, Note):
            notes.append(place)
        if not isinstance(place, FoundAgentsFile) or place.identity in identities:
            continue
        if len(files) == max_files:
            notes.append(Note(place.path, f"is not shown: there are more than {max_files} files; read it yourself"))
            continue
        identities.add(place.identity)
        text, file_notes = read_agents_file(place)
        notes += file_notes
        shown = truncate(text, left)
        if text and not shown:
            # A smaller file after this one is not shown either.
            left = 0
            notes.append(Note(place.path, f"is not shown: the limit is {max_bytes:,} bytes; read it yourself"))
            continue
        if shown:
            files.append((place, shown))
            left -= len(shown.encode())
        if shown or place.size:
            seen[place.path] = place.mtime_ms
        if shown != text:
            left = 0
            cut, size = len(shown.encode()), len(text.encode())
            notes.append(Note(place.path, f"is truncated to {cut:,} of {size:,} bytes; read it for the rest"))
    return Chain(tuple(files), tuple(notes), seen)


def truncate(text: str, max_bytes: int) -> str:
    """Return the start of `text`, at most `max_bytes` of UTF-8, ending between characters."""
    encoded = text.encode()
    return text if len(encoded) <= max_bytes else encoded[:max_bytes].decode("utf-8", "ignore")
