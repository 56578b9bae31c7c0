"""What a check is, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.skills.problems import Problem


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one check found. Each finding is a `Problem`: what it is about, what is wrong, and what mends it.

    The fix names one command where there is one. With `problems` something does not work as it was set up, and doctor
    exits with 1. With `warnings` it does, though perhaps not as its owner thinks. `notes` are shown only to who asks
    for all of it. Each begins with what concerns the most.

    `state` is a part of the first line, such as `113 skills served`. `details` are lines for `--verbose`, and `facts`
    the check's members of the JSON object, which no other check has.
    """

    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    state: str = ""
    details: tuple[str, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its `name`, a word that says what is checked, and the function that does it.

    `look` runs in a thread beside the other checks. What it raises is told as a problem of this check alone.
    """

    name: str
    look: Callable[[Installation], CheckResult]
