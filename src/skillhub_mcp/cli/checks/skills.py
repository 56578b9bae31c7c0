"""The skills: how many are served, which are refused, and which lost their name to another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.cli.output import plural
from skillhub_mcp.policy.access import Availability
from skillhub_mcp.skills.problems import refusal_problems, shadowing_problems

_EXCLUDED = (Availability.FILTERED, Availability.OFF, Availability.DENIED)


def check_skills(installation: Installation) -> CheckResult:
    """Return what is served, refused and shadowed."""
    snapshot = installation.library.view.snapshot
    policy = installation.policy()
    standing: Mapping[Availability, int] = (
        {} if policy is None else Counter(policy.availability(skill) for skill in snapshot.skills)
    )
    served = standing.get(Availability.ON, 0)
    refused, shadowed = len(snapshot.report.refused), len(snapshot.report.shadowed)
    excluded = "".join(f", {state.value} {count:,}" for state in _EXCLUDED if (count := standing.get(state, 0)))
    return CheckResult(
        problems=refusal_problems(snapshot.report),
        notes=shadowing_problems(snapshot.report),
        state=f"{plural(served, 'skill')} served",
        details=(f"served    {served:>7,}{excluded}, refused {refused:,}, shadowed {shadowed:,}",),
        facts={
            "served": served,
            "excluded": {state.value: standing.get(state, 0) for state in _EXCLUDED},
            "refused": refused,
            "shadowed": shadowed,
        },
    )


CHECK = Check("skills", check_skills)
