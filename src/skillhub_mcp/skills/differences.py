"""Which skills two snapshots do not have in common, in the time that it takes to compare addresses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress, count
from operator import is_not

from skillhub_mcp.skills.model import Skill


def differences(before: Sequence[Skill], now: Sequence[Skill]) -> tuple[list[Skill], list[Skill]]:
    """Return the skills of `before` that are not in `now`, and those of `now` not in `before`, in their order.

    What did not change is the same object from one snapshot to the next, and in the same order.
    """
    most = min(len(before), len(now))
    start = _alike(before, now, most)
    end = _alike(reversed(before), reversed(now), most - start)
    old: Sequence[Skill] = before[start : len(before) - end]
    new: Sequence[Skill] = now[start : len(now) - end]
    if len(old) == len(new):
        # Where each is in the place of another, which are the same is told without a set of all.
        others = list(map(is_not, old, new))
        old, new = list(compress(old, others)), list(compress(new, others))
    was, there = set(map(id, old)), set(map(id, new))
    return [skill for skill in old if id(skill) not in there], [skill for skill in new if id(skill) not in was]


def _alike(some: Iterable[Skill], others: Iterable[Skill], most: int) -> int:
    """Return how many skills are the same at the beginning of both, at `most`."""
    return min(next(compress(count(), map(is_not, some, others)), most), most)
