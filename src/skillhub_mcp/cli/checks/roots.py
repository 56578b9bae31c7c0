"""The directories that are searched for skills, and those that have skills and are not."""

from __future__ import annotations

import os
from collections import Counter

from skillhub_mcp.bootstrap.library import unsearched_places
from skillhub_mcp.chosen_roots import project_of, recorded_roots_problem
from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.cli.output import plural
from skillhub_mcp.settings import Settings
from skillhub_mcp.skills.problems import Problem, root_problems
from skillhub_mcp.skills.roots import SkillRoot


def check_roots(installation: Installation) -> CheckResult:
    """Return the roots with their number of skills, those that cannot be searched, and the places that are none."""
    snapshot = installation.library.view.snapshot
    unreadable = recorded_roots_problem()
    elsewhere = unsearched_places(installation.settings, snapshot)
    counts = Counter(skill.root for skill in snapshot.everything)
    refused = Counter(one.root for one in snapshot.report.refused)
    there = [(root, counts[root.path]) for root in snapshot.report.roots if os.path.isdir(root.path)]
    return CheckResult(
        problems=(
            *([] if unreadable is None else [unreadable]),
            *_project_problems(installation.settings),
            *root_problems(snapshot.report),
        ),
        warnings=tuple(place.as_problem() for place in elsewhere),
        details=tuple(_detail(root, count, refused[root.path]) for root, count in there),
        facts={
            "roots": [{"path": root.path, "source": root.source.value, "skills": count} for root, count in there],
            "not_searched": [{"path": one.place.path, "skills": one.skills} for one in elsewhere],
        },
    )


def _project_problems(settings: Settings) -> tuple[Problem, ...]:
    """Return what is wrong with the root of the project, where that is given."""
    root = project_of(settings).root
    if not settings.skills.project_root or os.path.isdir(root):
        return ()
    what = f"{root} is not a directory: no skill and no AGENTS.md of a project is found"
    return (Problem("SKILLHUB_PROJECT_ROOT", what, "correct it, or unset it and CODELIA_AGENTS_ROOT"),)


def _detail(root: SkillRoot, count: int, refused: int) -> str:
    how_many = plural(count, "skill") + (f" and {refused:,} refused" if refused else "")
    return f"{root.source.value:<10}{how_many}  {root.given}"


CHECK = Check("roots", check_roots)
