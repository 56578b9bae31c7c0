"""The entries of a large library as their columns have them: each is made when somebody asks for it.

Who searches once, from a shell, looks at all files and asks for a dozen of a hundred thousand skills.
"""

from __future__ import annotations

import gc
import json
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import BinaryIO, NamedTuple

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
_BROKEN = (OSError, ValueError, LookupError, TypeError)


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
    those that LENIENT admits. None where a directory is below two of these roots: which has it is told by their order.
    Raises OSError, and ValueError, LookupError or TypeError for files that say something else.
    """
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
        # The rows that are as nearly all: which of each block, and at which number these begin.
        self._blocks: list[tuple[Columns, Sequence[int]]] = []
        self._begins: list[int] = []
        self._names: list[str] = []
        self._directories: list[str] = []
        self._known: list[SeenFile] = []
        self._unchoosable: set[int] = set()

    def add(self, block: Columns) -> None:
        """Take over some rows. Raises what `read_unread` raises."""
        self._decoder.check(block)
        odd = self._odd(block)
        if odd:
            self._decoder.add_rows(block.rows(odd), self._made, {}, self._roots)
        directories = self._keys.directories(block["key"])
        left_out = {*odd, *self._replaced(block["key"], directories)}
        chosen: Sequence[int] = range(len(block))
        if left_out:
            chosen = [number for number in chosen if number not in left_out]
        usual = len(self._directories)
        flagged = {given for given in block.different("given") if _NOT_CHOOSABLE in given and _is_flagged(given)}
        if flagged:
            given = block["given"]
            self._unchoosable.update(at for at, number in enumerate(chosen, usual) if given[number] in flagged)
        fields = zip(
            *(block[field] for field in SeenFile._fields[:4]), self._roots_of(block["key"]), repeat(""), strict=False
        )
        known = list(map(partial(tuple.__new__, SeenFile), fields))
        self._known += map(known.__getitem__, chosen)
        self._names += map(block["name"].__getitem__, chosen)
        self._directories += map(directories.__getitem__, chosen)
        self._begins.append(usual)
        self._blocks.append((block, chosen))

    def entries(self) -> UnreadEntries | None:
        """Return the entries of all rows, or None where two have one directory."""
        made: list[tuple[str, CachedSkillFile]] = []
        for label in self._used:
            own = {**self._made.get(label, {}), **self._later.get(label, {})}
            made += [(directory, entry) for directory, entry in own.items() if entry is not None]
        known: dict[str, SeenFile | CachedSkillFile] = dict(zip(self._directories, self._known, strict=True))
        known.update(made)
        if len(known) < len(self._directories) + len(made):
            return None
        skills, refused, _ = judged(made, [self._roots[label].path for label in self._used], LENIENT)
        unchoosable = {at for at, one in enumerate(skills, len(self._names)) if one.disable_model_invocation}
        return UnreadEntries(
            known,
            UnreadSkills(
                names=[*self._names, *(skill.name for skill in skills)],
                directories=[*self._directories, *(skill.directory for skill in skills)],
                unchoosable=self._unchoosable | unchoosable,
                make=partial(self._make, skills),
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

    def _make(self, others: Sequence[Skill], numbers: Sequence[int]) -> list[Skill]:
        """Return the skills with these numbers; behind those of the rows come the `others`. Raises IndexUnavailable."""
        usual = len(self._directories)
        found: dict[str, dict[str, CachedSkillFile]] = {}
        try:
            self._add_entries([one for one in numbers if one < usual], found)
            made = {directory: entry.skill for own in found.values() for directory, entry in own.items()}
            skills = [made[self._directories[one]] if one < usual else others[one - usual] for one in numbers]
        except _BROKEN as error:
            raise IndexUnavailable(
                f"What was read from a skill is lost: {error}", hint="run skillhub index --repair, and start again"
            ) from error
        return [skill for skill in skills if skill is not None]

    def _add_entries(self, numbers: Sequence[int], found: dict[str, dict[str, CachedSkillFile]]) -> None:
        """Add the entries of the skills with these numbers; of all where it is most of them, which is as fast."""
        if len(numbers) * 2 > len(self._directories):
            for block, chosen in self._blocks:
                rows = block.rows() if len(chosen) == len(block) else block.rows(chosen)
                self._decoder.add_rows(rows, found, {}, self._roots)
            return
        for number in numbers:
            at = bisect_right(self._begins, number) - 1
            block, chosen = self._blocks[at]
            begin = block["begin"][chosen[number - self._begins[at]]]
            # For one row all columns would be taken apart.
            self._decoder.add(self._text.line(begin), begin, found, {}, self._roots)


def _is_flagged(given: str) -> bool:
    return bool(json.loads(given).get(_NOT_CHOOSABLE))
