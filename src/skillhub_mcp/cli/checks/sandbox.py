"""How the commands of skills are confined here, and why not more strongly."""

from __future__ import annotations

from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.errors import SandboxUnavailable
from skillhub_mcp.execution.sandbox.model import Tier
from skillhub_mcp.skills.problems import Problem

_SETTING = "SKILLHUB_SANDBOX"


def check_sandbox(installation: Installation) -> CheckResult:
    """Return the tier that was tried with success, or why none works: a problem where commands are enabled."""
    enabled = installation.settings.execution.enable_run
    setting = installation.settings.execution.sandbox
    try:
        sandbox = installation.hub.sandbox()
    except SandboxUnavailable as error:
        about = _SETTING if enabled else "commands of skills"
        found = Problem(about, error.message, error.hint or "run scripts of skills in your own terminal")
        no_tier: dict[str, object] = {"sandbox": {"tier": None, "reasons": error.reasons}}
        details = ("sandbox   none works here; commands are refused",)
        return CheckResult(
            problems=(found,) if enabled else (), notes=() if enabled else (found,), details=details, facts=no_tier
        )
    passed_over = {tier.value: reason for tier, reason in sandbox.passed_over}
    facts: dict[str, object] = {"sandbox": {"tier": sandbox.tier.value, "reasons": passed_over}}
    why = "".join(f"; {tier} not: {reason}" for tier, reason in passed_over.items())
    details = (f"sandbox   {sandbox.tier.value} ({_SETTING}={setting}){why}",)
    warnings: tuple[Problem, ...] = ()
    if sandbox.tier is Tier.OFF and enabled:
        what = "commands of skills run unconfined: each may read, change and send all that you may"
        warnings = (Problem(f"{_SETTING}=off", what, f"unset {_SETTING}, unless every skill here is your own"),)
    notes = tuple(
        Problem(f"sandbox {tier}", f"is not used: {reason}", "the next strongest is")
        for tier, reason in passed_over.items()
    )
    return CheckResult(warnings=warnings, notes=notes, details=details, facts=facts)


CHECK = Check("sandbox", check_sandbox)
