"""The person's own files that somebody else on this machine may write or read."""

from __future__ import annotations

from skillhub_mcp.bootstrap.policy import exposed_files
from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation


def check_files(installation: Installation) -> CheckResult:
    """Return the files that others may write, which are not used, and as warnings those that others may read."""
    changeable, readable = exposed_files(installation.settings)
    return CheckResult(problems=changeable, warnings=readable)


CHECK = Check("files", check_files)
