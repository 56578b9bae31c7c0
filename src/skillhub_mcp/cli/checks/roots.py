"""The directories that are searched for skills, and those that have skills and are not."""

from __future__ import annotations

import os
from collections import Counter

from skillhub_mcp.bootstrap.library import unsearched_places
from skillhub_mcp.chosen_roots import recorded_roots_problem
from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.cli.output import plural
from skillhub_mcp.skills.problems import root_problems
from skillhub_mcp.skills.roots import SkillRoot


def check_roots(installation: Installation) -> CheckResult:
    """Return the roots with their number of skills, those that cannot be searched, and the places that are none."""
    snapshot = installation.view.snapshot
    unreadable = recorded_roots_problem()
    elsewhere = unsearched_places(installation.settings, snapshot)
    counts = Counter(skill.root for skill in snapshot.everything)
    refused = Counter(one.root for one in snapshot.report.refused)
    there = [(root, counts[root.path]) for root in snapshot.report.roots if os.path.isdir(root.path)]
    return CheckResult(
        problems=(
            *([] if unreadable is None else [unreadable]),
            *root_problems(snapshot.report),
        ),
        warnings=tuple(place.as_problem() for place in elsewhere),
        details=tuple(_detail(root, count, refused[root.path]) for root, count in there),
        facts={
            "roots": [{"path": root.path, "source": root.source.value, "skills": count} for root, count in there],
            "not_searched": [{"path": one.place.path, "skills": one.skills} for one in elsewhere],
        },
    )


def _detail(root: SkillRoot, count: int, refused: int) -> str:
    how_many = plural(count, "skill") + (f" and {refused:,} refused" if refused else "")
    return f"{root.source.value:<10}{how_many}  {root.given}"


CHECK = Check("roots", check_roots)
