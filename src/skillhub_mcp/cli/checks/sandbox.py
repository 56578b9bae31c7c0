"""How the commands of skills are confined here."""

from __future__ import annotations

from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.errors import SandboxUnavailable
from skillhub_mcp.execution.sandbox import OFF
from skillhub_mcp.skills.problems import Problem

_SETTING = "SKILLHUB_SANDBOX"


def check_sandbox(installation: Installation) -> CheckResult:
    """Return whether commands can be confined: a problem if they are enabled and cannot."""
    enabled = installation.settings.execution.enable_run
    try:
        sandbox = installation.hub.commands().sandbox()
    except SandboxUnavailable as error:
        about = _SETTING if enabled else "commands of skills"
        found = Problem(about, error.message, error.hint or "run scripts of skills in your own terminal")
        facts: dict[str, object] = {"sandbox": {"name": None, "reason": error.reason}}
        details = ("sandbox   not available; commands are refused",)
        return CheckResult(
            problems=(found,) if enabled else (), notes=() if enabled else (found,), details=details, facts=facts
        )
    warnings: tuple[Problem, ...] = ()
    if sandbox is OFF and enabled:
        what = "commands of skills run unconfined: each may read, change and send all that you may"
        warnings = (Problem(f"{_SETTING}=off", what, f"unset {_SETTING}, unless every skill here is your own"),)
    return CheckResult(
        warnings=warnings,
        details=(f"sandbox   {sandbox.name}",),
        facts={"sandbox": {"name": sandbox.name, "reason": None}},
    )


CHECK = Check("sandbox", check_sandbox)
