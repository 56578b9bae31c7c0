"""Settings whose value is not used, and variables that are meant as settings and are none."""

from __future__ import annotations

import os

from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.settings import unknown_settings
from skillhub_mcp.skills.problems import Problem


def check_settings(installation: Installation) -> CheckResult:
    """Return the settings whose value is invalid, where the default is used instead, and misspelt names."""
    return CheckResult(
        problems=tuple(
            Problem(one.setting.name, one.problem, f"correct it; {one.setting.default}, the default, is used so far")
            for one in installation.sources
            if one.problem
        ),
        warnings=tuple(
            Problem(one.name, f"is no setting, and has no effect{one.guess}", "correct the name, or unset it")
            for one in unknown_settings(os.environ)
        ),
    )


CHECK = Check("settings", check_settings)
