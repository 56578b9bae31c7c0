"""Settings whose value is not used."""

from __future__ import annotations

from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.skills.problems import Problem


def check_settings(installation: Installation) -> CheckResult:
    """Return the settings whose value is invalid, where the default is used instead."""
    return CheckResult(
        problems=tuple(
            Problem(one.setting.name, one.problem, f"correct it; {one.setting.default}, the default, is used so far")
            for one in installation.sources
            if one.problem
        )
    )


CHECK = Check("settings", check_settings)
