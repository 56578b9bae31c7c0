"""Which skills two snapshots do not have in common."""

from __future__ import annotations

from collections.abc import Sequence

from skillhub_mcp.skills.model import Skill


def differences(before: Sequence[Skill], now: Sequence[Skill]) -> tuple[list[Skill], list[Skill]]:
    """Return the skills of `before` that are not in `now`, and those of `now` not in `before`, in their order.

    What did not change is the same object from one snapshot to the next.
    """
    was, there = set(map(id, before)), set(map(id, now))
    return [skill for skill in before if id(skill) not in there], [skill for skill in now if id(skill) not in was]
