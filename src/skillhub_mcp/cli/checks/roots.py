"""The directories that are searched for skills."""

from __future__ import annotations

import os
from collections import Counter

from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.skills.problems import root_problems


def check_roots(installation: Installation) -> CheckResult:
    """Return the roots with their number of skills, and those that cannot be searched."""
    snapshot = installation.library.view.snapshot
    counts = Counter(skill.root for skill in snapshot.everything)
    there = [(root, counts[root.path]) for root in snapshot.report.roots if os.path.isdir(root.path)]
    return CheckResult(
        problems=root_problems(snapshot.report),
        details=tuple(f"{root.source.value:<10}{count:>7,} skills  {root.given}" for root, count in there),
        facts={
            "roots": [{"path": root.path, "source": root.source.value, "skills": count} for root, count in there],
        },
    )


CHECK = Check("roots", check_roots)
