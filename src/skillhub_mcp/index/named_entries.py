"""The entries of the skills that answer to some names, found in the file of entries without reading the others.

Who asks for one skill of a large library, from a shell, need not wait for all of them to be read. What is returned may
be more than was asked for, and is never less: every entry with one of the names, with an alias that is one of them, and
with the names of those; and of a root with few skills every one.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from skillhub_mcp.garbage import garbage_collection_off
from skillhub_mcp.index.keys import RootKeys
from skillhub_mcp.index.state_entries import Entries, entries_of_lines, whole_lines
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.names import safe_alias, shown_name
from skillhub_mcp.skills.roots import SOURCES

# How often one name leads to others, by an alias or a directory that two roots have. Then everything is read.
_MOST_ROUNDS = 4
_KEY = re.compile(rb'\[("(?:[^"\\]|\\.)*")')
# Where a name may be whose alias is another. Other texts may look like one: each is looked at.
_ODD = rb'\],"(?!(?=[^"]{1,64}")[a-z0-9]+(?:-[a-z0-9]+)*")(?=((?:[^"\\]|\\.)*)",")'


@dataclass(frozen=True, slots=True)
class NamedEntries:
    """Some of the entries of a file, and the labels of the roots of which there are not all."""

    entries: Entries
    large: frozenset[str]


def read_named(
    file: BinaryIO, compact: int, end: int, roots: Mapping[str, RootKeys], names: Collection[str], *, many: int
) -> NamedEntries | None:
    """Return the entries for `names`, of a file that was written at once up to byte `compact` and appended to since.

    A name may be one with its source, or the path of a skill. `roots` are those that are searched, by label; of one
    with fewer than `many` skills everything is returned. None where only reading everything says which entries these
    are. Raises OSError, and ValueError, LookupError or TypeError for a file that says something else.
    """
    with garbage_collection_off():
        appended = _last_of_each(whole_lines(file, compact, end))
        counts = _counts(whole_lines(file, 0, compact), roots)
        changes = _counts([(compact, b"\n".join(appended.values()))], roots)
        large = set()
        for label, count in counts.items():
            if count - changes[label] >= many:
                large.add(label)
            elif count + changes[label] >= many:
                return None
        small = [label for label in counts if label not in large]
        found = _Found(file, compact, appended, roots)
        found.add_starting(b'["' + _written(label) + sign for label in small for sign in (b"/", b'"'))
        wanted = _plain(names)
        found.add_named(wanted)
        found.add_starting(_keys_of_paths(names, roots))
        settled, known = set(wanted), frozenset[str]()
        for _ in range(_MOST_ROUNDS):
            entries = found.entries()
            more = _names_beside(entries, large, settled) - settled
            places = frozenset(directory for label in large for directory in entries.get(label, {})) - known
            if not more and not (places and len(roots) > 1):
                return NamedEntries(entries, frozenset(large))
            settled |= more
            found.add_named(more)
            if len(roots) > 1:
                # A directory below two roots has an entry of each, and the first root's counts.
                known |= places
                keys = (_key(own.key(place)) for own in roots.values() for place in places)
                found.add_starting(b"[" + key + b"," for key in keys)
    return None


class _Found:
    """The lines of a file that were found, by where they begin: in what was written at once up to `end`, or behind.

    `appended` are the lines that count behind it, by their written keys.
    """

    def __init__(
        self, file: BinaryIO, end: int, appended: Mapping[bytes, bytes], roots: Mapping[str, RootKeys]
    ) -> None:
        self._file, self._end, self._roots = file, end, roots
        self._appended = appended
        self._behind = b"\n".join((b"", *appended.values()))
        self._lines: dict[int, bytes] = {}

    def add_starting(self, starts: Iterable[bytes]) -> None:
        """Add the lines that begin with one of these bytes."""
        needles = [b"\n" + start for start in dict.fromkeys(starts)]
        for at, lines in self._blocks() if needles else ():
            for needle in needles:
                begin = lines.find(needle)
                while begin >= 0:
                    begin = self._add(lines, begin + 1, at)
                    begin = lines.find(needle, begin)

    def add_named(self, names: Collection[str]) -> None:
        """Add the lines of skills that have one of these names or aliases."""
        if not names:
            return
        exact = b"|".join(re.escape(_written(name)) for name in sorted(names))
        pattern = re.compile(rb'\],"(?:' + exact + rb')","|' + _ODD)
        for at, lines in self._blocks():
            for match in pattern.finditer(lines):
                odd = match[1]
                if odd is None or safe_alias(_read(odd)) in names:
                    self._add(lines, lines.rfind(b"\n", 0, match.start()) + 1, at)

    def entries(self) -> Entries:
        """Return the entries of the lines, with what was appended in their place."""
        written = (self._lines[at] for at in sorted(self._lines))
        counting = [self._appended.get(_key_of(line), line) for line in written]
        found = entries_of_lines(b"\n".join(counting), self._roots)
        return {
            label: {place: entry for place, entry in found.get(label, {}).items() if entry is not None}
            for label in self._roots
        }

    def _blocks(self) -> Iterator[tuple[int, bytes]]:
        for at, lines in whole_lines(self._file, 0, self._end):
            yield at, b"\n" + lines
        yield self._end, self._behind

    def _add(self, lines: bytes, begin: int, at: int) -> int:
        end = lines.find(b"\n", begin)
        end = len(lines) if end < 0 else end
        line = lines[begin:end]
        self._lines[at + begin] = line
        return end


def _last_of_each(blocks: Iterable[tuple[int, bytes]]) -> dict[bytes, bytes]:
    """Return the last line of each key, by the key as it is written."""
    return {_key_of(line): line for _, lines in blocks for line in lines.split(b"\n")}


def _key_of(line: bytes) -> bytes:
    """Return the key of a line as it is written, in its quotes. Raises ValueError."""
    key = _KEY.match(line)
    if key is None:
        raise ValueError("a line without a key")
    return key[1]


def _counts(blocks: Iterable[tuple[int, bytes]], roots: Mapping[str, RootKeys]) -> dict[str, int]:
    """Return how many lines each root has."""
    starts = {
        label: (b'\n["' + _written(label) + b"/", b'\n["' + _written(label) + b'",', b'\n["' + _written(label) + b'"]')
        for label in roots
    }
    counts = dict.fromkeys(roots, 0)
    for _, lines in blocks:
        for label, own in starts.items():
            counts[label] += sum(map((b"\n" + lines).count, own))
    return counts


def _plain(names: Iterable[str]) -> set[str]:
    """Return the names, and those before a source."""
    found = set(names)
    for name in names:
        plain, _, source = name.rpartition("@")
        if plain and source in SOURCES:
            found.add(plain)
    return found


def _names_beside(entries: Entries, large: Collection[str], names: Collection[str]) -> set[str]:
    """Return the names that the skills have which answer to one of `names`, and what they are shown by."""
    found = set()
    for own in entries.values():
        for entry in own.values():
            skill = entry.skill
            if skill is not None and (skill.name in names or skill.alias in names):
                found |= {skill.name, shown_name(skill.name)}
    for label in large:
        found |= {entry.skill.name for entry in entries.get(label, {}).values() if entry.skill is not None}
    return found


def _keys_of_paths(names: Iterable[str], roots: Mapping[str, RootKeys]) -> Iterator[bytes]:
    """Yield how the lines begin of the skills at the paths among `names`."""
    for name in names:
        if os.path.dirname(name):
            place = os.path.normpath(name)
            place = os.path.dirname(place) if os.path.basename(place) == SKILL_FILE else place
            for own in roots.values():
                yield b"[" + _key(own.key(place)) + b","


def _key(key: str) -> bytes:
    return b'"' + _written(key) + b'"'


def _written(text: str) -> bytes:
    """Return a text as a line has it, without its quotes."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogateescape")


def _read(written: bytes) -> str:
    text: str = json.loads('"' + written.decode("utf-8", "surrogateescape") + '"')
    return text
