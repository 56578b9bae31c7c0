"""The skills: how many are served, which are refused, and which lost their name to another."""

from __future__ import annotations

from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.cli.output import plural
from skillhub_mcp.disclosure.counts import SkillCounts, count_skills
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.problems import refusal_problems, shadowing


def check_skills(installation: Installation) -> CheckResult:
    """Return what is served, refused and shadowed."""
    snapshot = installation.view.snapshot
    policy = installation.policy()
    lost = (Names(snapshot) if policy is None else Names(snapshot, policy)).shadowed()
    refused, shadowed = len(snapshot.report.refused), len(lost)
    # Rules that cannot be read let nothing be served.
    nothing = SkillCounts(served=0, refused=refused, shadowed=shadowed)
    counts = nothing if policy is None else count_skills(snapshot, policy)
    people = f", {counts.not_for_models:,} not for models" if counts.not_for_models else ""
    return CheckResult(
        problems=refusal_problems(snapshot.report),
        notes=tuple(map(shadowing, lost)),
        state=f"{plural(counts.served, 'skill')} served{people}",
        details=(f"skills    {counts.sentence()}",),
        facts={
            "served": counts.served,
            "not_for_models": counts.not_for_models,
            "excluded": {"filtered": counts.filtered, "off": counts.off, "denied": counts.denied},
            "refused": refused,
            "shadowed": counts.shadowed,
        },
    )


CHECK = Check("skills", check_skills)
