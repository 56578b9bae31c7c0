"""Counts the steps of a backtracking matcher over a regular expression: what `re` does, without its clock.

`re` tells nobody how much it backtracks, and a time says more about the machine than about the pattern. This matcher
walks the tree that `re` itself parsed, as `re` does: greedy first, from one position after another, without a memory.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from types import FrameType
from typing import Any

if sys.version_info >= (3, 11):
    from re import _constants as codes  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
else:
    import sre_constants as codes
    import sre_parse as parser

# A continuation: where the rest of the pattern is tried.
_Then = Callable[[int], "int | None"]
MOST_STEPS = 100_000
_DEEPEST = 12_000
# A repeat of more than this has a bound that a text may be longer than, or none.
_ENDLESS = int(codes.MAXREPEAT)
_RUN = "a run of plain characters"


class TooManySteps(Exception):
    """The matcher took more than `MOST_STEPS` steps."""


class CountedPattern:
    """A pattern whose steps are counted: each character looked at is one, and so is each position that is tried."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        source = pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
        self.flags = pattern.flags
        self.tree = parser.parse(pattern.pattern, pattern.flags)
        self.source = source
        self.steps = 0

    def steps_of(self, text: str, *, search: bool) -> int:
        """Return the steps for finding every match in `text`; without `search`, for the one at its start."""
        self.steps = 0
        at = 0
        limit = sys.getrecursionlimit()
        # A group that repeats is a call within a call.
        sys.setrecursionlimit(max(limit, _DEEPEST))
        try:
            while at <= len(text):
                end = self._sequence(list(self.tree), 0, text, at, lambda position: position)
                if not search:
                    break
                at = end if end is not None and end > at else at + 1
        except TooManySteps:
            return MOST_STEPS
        finally:
            sys.setrecursionlimit(limit)
        return self.steps

    def _step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooManySteps

    def _sequence(self, items: Sequence[Any], index: int, text: str, at: int, then: _Then) -> int | None:
        if index == len(items):
            return then(at)
        return self._item(
            items[index], text, at, lambda position: self._sequence(items, index + 1, text, position, then)
        )

    def _item(self, item: Any, text: str, at: int, then: _Then) -> int | None:
        self._step()
        op, value = item
        if op in _SINGLE:
            return then(at + 1) if at < len(text) and self._fits(item, text[at]) else None
        if op in (codes.MAX_REPEAT, codes.MIN_REPEAT, _POSSESSIVE):
            return self._repeat(op, value, text, at, then)
        if op is codes.BRANCH:
            tried = (self._sequence(list(branch), 0, text, at, then) for branch in value[1])
            return next((end for end in tried if end is not None), None)
        if op is codes.SUBPATTERN:
            return self._sequence(list(value[3]), 0, text, at, then)
        if op is _ATOMIC:
            end = self._sequence(list(value), 0, text, at, lambda position: position)
            return None if end is None else then(end)
        if op in (codes.ASSERT, codes.ASSERT_NOT):
            direction, inner = value
            start = at if direction > 0 else at - inner.getwidth()[0]
            found = start >= 0 and self._sequence(list(inner), 0, text, start, lambda position: position) is not None
            return then(at) if found == (op is codes.ASSERT) else None
        if op is codes.AT:
            return then(at) if _stands(value, text, at) else None
        raise NotImplementedError(f"{op} in {self.source}")

    def _repeat(self, op: Any, value: Any, text: str, at: int, then: _Then) -> int | None:
        fewest, most, inner = value
        if len(inner) == 1 and inner[0][0] in _SINGLE:
            return self._repeat_one(op, fewest, most, inner[0], text, at, then)
        items = list(inner)

        def again(position: int, times: int) -> int | None:
            def deeper(end: int) -> int | None:
                # As `re` does: what matched nothing is not repeated.
                return None if end == position and times >= fewest else again(end, times + 1)

            if op is codes.MIN_REPEAT and times >= fewest:
                found = then(position)
                if found is not None:
                    return found
            if times < most:
                found = self._sequence(items, 0, text, position, deeper)
                if found is not None:
                    return found
            return then(position) if op is not codes.MIN_REPEAT and times >= fewest else None

        return again(at, 0)

    def _repeat_one(self, op: Any, fewest: int, most: int, item: Any, text: str, at: int, then: _Then) -> int | None:
        limit = min(len(text), at + most) if most < _ENDLESS else len(text)
        end = at
        if op is codes.MIN_REPEAT:
            while end - at < fewest or (found := then(end)) is None:
                self._step()
                if end >= limit or not self._fits(item, text[end]):
                    return None
                end += 1
            return found
        while end < limit and self._fits(item, text[end]):
            self._step()
            end += 1
        if end - at < fewest:
            return None
        if op is _POSSESSIVE:
            return then(end)
        for position in range(end, at + fewest - 1, -1):
            found = then(position)
            if found is not None:
                return found
        return None

    def _fits(self, item: Any, character: str) -> bool:
        if not self.flags & re.IGNORECASE:
            return _fits(item, character, self.flags)
        return _fits(item, character.lower(), self.flags) or _fits(item, character.upper(), self.flags)


_SINGLE = (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN)
_POSSESSIVE = getattr(codes, "POSSESSIVE_REPEAT", None)
_ATOMIC = getattr(codes, "ATOMIC_GROUP", None)
_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    codes.CATEGORY_DIGIT: str.isdigit,
    codes.CATEGORY_SPACE: str.isspace,
    codes.CATEGORY_WORD: lambda one: one.isalnum() or one == "_",
    codes.CATEGORY_NOT_DIGIT: lambda one: not one.isdigit(),
    codes.CATEGORY_NOT_SPACE: lambda one: not one.isspace(),
    codes.CATEGORY_NOT_WORD: lambda one: not (one.isalnum() or one == "_"),
}


def _fits(item: Any, character: str, flags: int) -> bool:
    op, value = item
    if op is codes.LITERAL:
        return bool(ord(character) == value)
    if op is codes.NOT_LITERAL:
        return bool(ord(character) != value)
    if op is codes.ANY:
        return bool(flags & re.DOTALL) or character != "\n"
    negated = value[0][0] is codes.NEGATE
    found = any(_is_in(one, character) for one in value[negated:])
    return bool(found != negated)


def _is_in(one: Any, character: str) -> bool:
    op, value = one
    if op is codes.LITERAL:
        return bool(ord(character) == value)
    if op is codes.RANGE:
        return bool(value[0] <= ord(character) <= value[1])
    return _CATEGORIES[value](character)


def _stands(code: Any, text: str, at: int) -> bool:
    if code in (codes.AT_BEGINNING_STRING, codes.AT_BEGINNING):
        return at == 0 or (code is codes.AT_BEGINNING and text[at - 1] == "\n")
    if code is codes.AT_END_STRING:
        return at == len(text)
    if code is codes.AT_END:
        return at == len(text) or text[at] == "\n"
    before, after = (0 <= place < len(text) and (text[place].isalnum() or text[place] == "_") for place in (at - 1, at))
    return (before != after) == (code is codes.AT_BOUNDARY)


@dataclass(frozen=True, slots=True)
class Attack:
    """A text that may make a pattern backtrack: `head` once, `pump` many times, and an end that matches nothing."""

    head: str
    pump: str

    def text(self, times: int) -> str:
        """Return the text with so many repetitions."""
        return f"{self.head}{self.pump * times}\0"


def attacks_on(pattern: re.Pattern[Any]) -> list[Attack]:
    """Return attacks that are samples of a pattern's parts, repeated behind samples of what stands before them."""
    tree = CountedPattern(pattern).tree
    return list(dict.fromkeys(islice((one for one in _attacks(tree) if one.pump), 80)))


def is_endless(pattern: re.Pattern[Any], *, search: bool) -> bool:
    """Whether a pattern can backtrack without end: two repeats without a bound, or one that a search begins anew."""
    endless = 0
    for items in _sequences(CountedPattern(pattern).tree):
        endless += sum(op in _REPEATS and value[1] >= _ENDLESS for op, value in items)
    return endless > (0 if search else 1)


def _attacks(tree: Any) -> Iterator[Attack]:
    for items in map(_without_letters, _sequences(tree)):
        texts = [[_sample(part, variant=variant) for part in items] for variant in (0, 1)]
        for length in range(1, min(len(items), 8) + 1):
            for start in range(len(items) - length + 1):
                for samples in texts:
                    yield Attack("".join(samples[:start]), "".join(samples[start : start + length]))


def _without_letters(items: Sequence[Any]) -> list[Any]:
    """Return the items with runs of plain characters as one, written as a group."""
    parts: list[Any] = []
    for item in items:
        if item[0] is codes.LITERAL and parts and parts[-1][0] is codes.SUBPATTERN and parts[-1][1][0] is _RUN:
            parts[-1][1][3].append(item)
        else:
            parts.append((codes.SUBPATTERN, (_RUN, 0, 0, [item])) if item[0] is codes.LITERAL else item)
    return parts


def _sequences(tree: Any) -> Iterator[list[Any]]:
    yield list(tree)
    for op, value in tree:
        if op is codes.SUBPATTERN:
            yield from _sequences(value[3])
        elif op is codes.BRANCH:
            for branch in value[1]:
                yield from _sequences(branch)
        elif op in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _sequences(value[1])
        elif op in (codes.MAX_REPEAT, codes.MIN_REPEAT, _POSSESSIVE):
            yield from _sequences(value[2])


def _sample(item: Any, *, variant: int) -> str:
    """Return a text that an item of the tree matches, so far as its neighbours allow it."""
    op, value = item
    if op is codes.LITERAL:
        return chr(value)
    if op in (codes.NOT_LITERAL, codes.ANY):
        return "~" if value == ord("a") else "a"
    if op is codes.IN:
        return _member(item, variant)
    if op in (codes.MAX_REPEAT, codes.MIN_REPEAT, _POSSESSIVE):
        return _sample_of_all(value[2], variant) * max(1, int(value[0]))
    if op is codes.BRANCH:
        return _sample_of_all(value[1][-1 if variant else 0], variant)
    if op is codes.SUBPATTERN:
        return _sample_of_all(value[3], variant)
    return _sample_of_all(value, variant) if op is _ATOMIC else ""


def _sample_of_all(items: Any, variant: int) -> str:
    return "".join(_sample(item, variant=variant) for item in items)


_CHARACTERS = 'aA0_ -./\n\t:"<[(#~\\,\x01'


def _member(item: Any, variant: int) -> str:
    order = _CHARACTERS if variant == 0 else _CHARACTERS[::-1]
    within = next((one for one in order if _fits(item, one, 0)), None)
    if within is not None:
        return within
    named: Any = next((value for op, value in item[1] if op in (codes.LITERAL, codes.RANGE)), 0x4E00)
    return chr(named[0] if isinstance(named, tuple) else named)


def largest_bound(pattern: re.Pattern[Any]) -> int:
    """Return the largest finite number of repetitions in a pattern: a text has to be longer than that to tell."""
    bounds = [value[1] for items in _sequences(CountedPattern(pattern).tree) for op, value in items if op in _REPEATS]
    return max((int(bound) for bound in bounds if bound < _ENDLESS), default=0)


_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, _POSSESSIVE)


class CountingPattern:
    """Stands in for a compiled pattern in a module: answers as the pattern does, and counts what that takes."""

    def __init__(self, pattern: re.Pattern[str], work: Work) -> None:
        self._pattern = pattern
        self._counted = CountedPattern(pattern)
        self._work = work

    def match(self, text: str, *place: int) -> re.Match[str] | None:
        self._count(text, *place, search=False)
        return self._pattern.match(text, *place)

    def fullmatch(self, text: str, *place: int) -> re.Match[str] | None:
        self._count(text, *place, search=False)
        return self._pattern.fullmatch(text, *place)

    def search(self, text: str, *place: int) -> re.Match[str] | None:
        self._count(text, *place, search=True)
        return self._pattern.search(text, *place)

    def finditer(self, text: str, *place: int) -> Iterator[re.Match[str]]:
        self._count(text, *place, search=True)
        return self._pattern.finditer(text, *place)

    def findall(self, text: str, *place: int) -> list[str]:
        self._count(text, *place, search=True)
        return self._pattern.findall(text, *place)

    def _count(self, text: str, start: int = 0, end: int | None = None, *, search: bool) -> None:
        self._work.done += self._counted.steps_of(str(text)[start:end], search=search)


class Work:
    """How much was done: steps of patterns, characters that methods of a `CountedText` went through, lines run."""

    def __init__(self) -> None:
        self.done = 0

    def trace(self, frame: FrameType, event: str, _: object) -> Any:
        """Count a line of the program; for `sys.settrace`."""
        if frame.f_globals.get("__name__") == __name__:
            return None
        self.done += event == "line"
        return self.trace


class CountedText(str):
    """A text that counts the characters that its methods go through."""

    __slots__ = ("work",)
    work: Work

    @classmethod
    def of(cls, text: str, work: Work) -> CountedText:
        made = cls(text)
        made.work = work
        return made

    def _went(self, start: Any, end: Any, found: int, *, backwards: bool = False) -> int:
        begin, stop, _ = slice(start, end).indices(len(self))
        if backwards:
            begin = max(begin, found)
        elif found >= 0:
            stop = found
        self.work.done += max(0, stop - begin)
        return found

    def find(self, part: str, start: Any = None, end: Any = None) -> int:
        return self._went(start, end, super().find(part, start, end))

    def rfind(self, part: str, start: Any = None, end: Any = None) -> int:
        return self._went(start, end, super().rfind(part, start, end), backwards=True)

    def count(self, part: str, start: Any = None, end: Any = None) -> int:
        self._went(start, end, -1)
        return super().count(part, start, end)

    def __contains__(self, part: object) -> bool:
        return self.find(str(part)) >= 0

    def __getitem__(self, key: Any) -> str:
        found = super().__getitem__(key)
        self.work.done += len(found)
        return found
