"""The audit: hostile content in the skills that are served."""

from __future__ import annotations

import shlex

from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.cli.output import plural
from skillhub_mcp.skills.problems import Problem

# Doctor does not wait for the audit of a large library.
_AUDITED_AT_ONCE = 300


def check_audit(installation: Installation) -> CheckResult:
    """Return the critical findings, and how many are less."""
    auditor, policy = installation.hub.auditor, installation.policy()
    if auditor is None or policy is None:
        return CheckResult(facts={"audit": None})
    skills = [skill for skill in installation.view.snapshot.everything if policy.visibility.allows(skill)]
    left = auditor.audit_all(skills, most=_AUDITED_AT_ONCE)
    found = [(skill, one) for skill in skills for one in installation.hub.audited(skill)]
    critical = tuple(
        Problem(
            skill.directory,
            f"has a critical finding of the audit: {one.rule} ({one.place})"
            + (", and is withheld" if auditor.blocks else ""),
            f"read it with `skillhub audit {shlex.quote(skill.directory)}`; remove it, or accept it with --accept",
        )
        for skill, one in found
        if one.severity.value == "critical"
    )
    high = sum(one.severity.value == "high" for _, one in found)
    rest = f", {plural(left, 'skill')} not audited yet: `skillhub audit`" if left else ""
    return CheckResult(
        warnings=critical,
        details=(f"audit     {len(critical):,} critical, {high:,} high{rest}",),
        facts={"audit": {"critical": len(critical), "high": high, "not_audited": left}},
    )


CHECK = Check("audit", check_audit)
