"""The entries of a large library as their columns have them: each is made when somebody asks for it.

Who searches once, from a shell, looks at all files and asks for a dozen of a hundred thousand skills.
"""

from __future__ import annotations

import gc
import json
import os
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, repeat
from typing import Any, BinaryIO, NamedTuple

from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.garbage import garbage_collection_off
from skillhub_mcp.index.entry_columns import Columns, read_columns
from skillhub_mcp.index.keys import LibraryKeys, RootKeys, label_of
from skillhub_mcp.index.state_entries import EntriesText, LateDecoder, entries_of_lines, whole_lines
from skillhub_mcp.skills.admission import LENIENT
from skillhub_mcp.skills.late_snapshot import UnreadSkills
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.scanner import CachedSkillFile, judged
from skillhub_mcp.skills.snapshot import Refused

_NOT_CHOOSABLE = "disable_model_invocation"
_BROKEN = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


class SeenFile(NamedTuple):
    """A SKILL.md that was found before, as `discovery.KnownSkillFile` has it: it is its own stamp."""

    mtime_ns: int
    size: int
    ctime_ns: int
    read_at_ns: int
    root: str
    name: str = ""

    @property
    def stamp(self) -> SeenFile:
        """When it was written and read."""
        return self


class UnreadEntries(NamedTuple):
    """What is known of each SKILL.md below some roots, by directory; the skills among them, and those `refused`."""

    known: Mapping[str, SeenFile | CachedSkillFile]
    skills: UnreadSkills
    refused: Sequence[Refused]


def read_unread(
    lines: BinaryIO, columns: BinaryIO, *, compact: int, end: int, roots: Mapping[str, RootKeys], used: Collection[str]
) -> UnreadEntries | None:
    """Return the entries that a file of `lines` has up to byte `end`, whose `columns` are of those up to `compact`.

    `roots` are all that it has entries of, by label, and `used` the labels of those to be returned; the skills are
    those that LENIENT admits. None where a directory is below two of the roots used: which has it their order tells.
    Raises OSError, and ValueError, LookupError or TypeError for files that say something else.
    """
    if os.fstat(lines.fileno()).st_size < end:
        raise ValueError("the file ends too early")
    with garbage_collection_off():
        appended = b"\n".join(block for _, block in whole_lines(lines, compact, end))
        reader = _Reader(EntriesText(lines), roots, used, entries_of_lines(appended, roots))
        for block in read_columns(columns, compact):
            reader.add(block)
        found = reader.entries()
        # They stay until the end: looking through them for garbage takes longer than this did.
        gc.freeze()
        return found


class _Reader:
    """Takes the rows of columns as they are, and makes the entries of those that are not as nearly all.

    `later` has what takes their place, by label and directory; None for what is gone.
    """

    def __init__(
        self,
        text: EntriesText,
        roots: Mapping[str, RootKeys],
        used: Collection[str],
        later: Mapping[str, Mapping[str, CachedSkillFile | None]],
    ) -> None:
        self._text = text
        self._decoder = LateDecoder(text)
        self._roots = roots
        self._used = frozenset(used)
        self._later = {label: own for label, own in later.items() if label in used}
        self._keys = LibraryKeys({own.path: label for label, own in roots.items()})
        self._made: dict[str, dict[str, CachedSkillFile]] = {}
        self._rows = _Rows()
        # Of those rows, by their numbers.
        self._names: list[str] = []
        self._directories: list[str] = []
        self._seen: list[SeenFile] = []
        self._unchoosable: set[int] = set()

    def add(self, block: Columns) -> None:
        """Take over some rows. Raises what `read_unread` raises."""
        self._decoder.check(block)
        odd = self._odd(block)
        if odd:
            self._decoder.add_rows(block.rows(odd), self._made, {}, self._roots)
        keys = block["key"]
        directories = self._keys.directories(keys)
        left_out = {*odd, *self._replaced(keys, directories)}
        chosen: Sequence[int] = range(len(block))
        if left_out:
            chosen = [number for number in chosen if number not in left_out]
        flagged = {given for given in block.different("given") if _NOT_CHOOSABLE in given and _is_flagged(given)}
        if flagged:
            given, begin = block["given"], len(self._names)
            self._unchoosable.update(at for at, number in enumerate(chosen, begin) if given[number] in flagged)
        stamps = (block["mtime_ns"], block["size"], block["ctime_ns"], block["read_at_ns"])
        fields = zip(*stamps, self._roots_of(keys), repeat("", len(block)), strict=True)
        seen = list(map(partial(tuple.__new__, SeenFile), fields))
        self._seen += map(seen.__getitem__, chosen)
        self._names += map(block["name"].__getitem__, chosen)
        self._directories += map(directories.__getitem__, chosen)
        self._rows.add(block, chosen)

    def entries(self) -> UnreadEntries | None:
        """Return the entries of all rows, or None where two have one directory."""
        made: list[tuple[str, CachedSkillFile]] = []
        for label in self._used:
            own = {**self._made.get(label, {}), **self._later.get(label, {})}
            made += [(directory, entry) for directory, entry in own.items() if entry is not None]
        known: dict[str, SeenFile | CachedSkillFile] = dict(zip(self._directories, self._seen, strict=True))
        known.update(made)
        if len(known) < len(self._directories) + len(made):
            return None
        others, refused, _ = judged(made, [self._roots[label].path for label in self._used], LENIENT)
        unchoosable = {at for at, one in enumerate(others, len(self._names)) if one.disable_model_invocation}
        directories = [*self._directories, *(skill.directory for skill in others)]
        return UnreadEntries(
            known,
            UnreadSkills(
                names=[*self._names, *(skill.name for skill in others)],
                directories=directories,
                unchoosable=self._unchoosable | unchoosable,
                make=_Maker(self._rows, directories, others, self._roots, self._text).make,
            ),
            refused,
        )

    def _odd(self, block: Columns) -> list[int]:
        """Return the numbers of the rows that are not as nearly all, and of those that are refused."""
        keys = block["key"]
        found = [number for number, key in enumerate(keys) if not key] if "" in keys else []
        refused = {said for said in block.different("diagnostics") if self._is_refused(said)}
        if refused:
            found += [number for number, said in enumerate(block["diagnostics"]) if said in refused]
        return found

    def _is_refused(self, said: str) -> bool:
        return bool(said) and LENIENT.refuses(self._decoder.diagnostics(json.loads(said)))

    def _replaced(self, keys: Sequence[str], directories: Sequence[str]) -> Iterable[int]:
        """Yield the numbers of the rows of other roots, and of those in whose place something came later."""
        if len(self._used) < len(self._roots):
            yield from (number for number, key in enumerate(keys) if label_of(key) not in self._used)
        for label, own in self._later.items():
            for number, directory in enumerate(directories):
                if directory in own and label_of(keys[number]) == label:
                    yield number

    def _roots_of(self, keys: Sequence[str]) -> Iterable[str]:
        if len(self._used) == 1:
            (only,) = self._used
            return repeat(self._roots[only].path, len(keys))
        paths = {label: own.path for label, own in self._roots.items()}
        return [paths.get(label_of(key), "") for key in keys]


class _Rows:
    """Rows of several columns, of each of which some were chosen: numbered from 0 on through all."""

    def __init__(self) -> None:
        self._blocks: list[tuple[Columns, Sequence[int]]] = []
        self._begins: list[int] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, block: Columns, chosen: Sequence[int]) -> None:
        """Add the rows of some columns that were chosen."""
        self._begins.append(self._count)
        self._blocks.append((block, chosen))
        self._count += len(chosen)

    def every(self) -> Iterator[tuple[Any, ...]]:
        """Yield all rows."""
        for block, chosen in self._blocks:
            yield from block.rows() if len(chosen) == len(block) else block.rows(chosen)

    def begin(self, number: int) -> int:
        """Return the byte where the line of one row begins."""
        at = bisect_right(self._begins, number) - 1
        block, chosen = self._blocks[at]
        begin: int = block["begin"][chosen[number - self._begins[at]]]
        return begin


class _Maker:
    """Makes the skills of rows; behind these, by their numbers, come `others` that are there."""

    def __init__(
        self,
        rows: _Rows,
        directories: Sequence[str],
        others: Sequence[Skill],
        roots: Mapping[str, RootKeys],
        text: EntriesText,
    ) -> None:
        self._rows = rows
        self._directories = directories
        self._others = others
        self._roots = roots
        self._text = text
        self._decoder = LateDecoder(text)

    def make(self, numbers: Sequence[int]) -> list[Skill]:
        """Return the skills with these numbers, in their order. Raises IndexUnavailable."""
        usual = len(self._rows)
        try:
            made = self._made([number for number in numbers if number < usual])
            return [
                made[self._directories[number]] if number < usual else self._others[number - usual]
                for number in numbers
            ]
        except _BROKEN as error:
            raise IndexUnavailable(
                f"What was read from a skill is lost: {error}", hint="run skillhub index --repair, and start again"
            ) from error

    def _made(self, numbers: Sequence[int]) -> dict[str, Skill]:
        """Return the skills of the rows with these numbers, by directory; of all where it is most of them."""
        found: dict[str, dict[str, CachedSkillFile]] = {}
        if len(numbers) * 2 > len(self._rows):
            self._decoder.add_rows(self._rows.every(), found, {}, self._roots)
        else:
            for begin in map(self._rows.begin, numbers):
                # For one row all columns would be taken apart.
                self._decoder.add(self._text.line(begin), begin, found, {}, self._roots)
        entries = chain.from_iterable(own.items() for own in found.values())
        return {directory: entry.skill for directory, entry in entries if entry.skill is not None}


def _is_flagged(given: str) -> bool:
    return bool(json.loads(given).get(_NOT_CHOOSABLE))
