"""Settings whose value is not used or stops a server, and variables that are meant as settings and are none."""

from __future__ import annotations

import os
from collections.abc import Iterator

from skillhub_mcp.agents_md.schema import read_config
from skillhub_mcp.bootstrap.policy import exposed_files
from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.execution.hooks import read_hooks
from skillhub_mcp.settings import Settings, unknown_settings
from skillhub_mcp.skills.problems import Problem


def check_settings(installation: Installation) -> CheckResult:
    """Return the settings whose value is invalid, and those that name a file which is; and misspelt names."""
    ignored = (
        Problem(
            one.setting.name, one.problem, f"correct it; using {one.shown}" if one.shown else "correct it, or unset it"
        )
        for one in installation.sources
        if one.problem
    )
    return CheckResult(
        problems=(*ignored, *_unreadable(installation.settings)),
        warnings=tuple(
            Problem(one.name, f"is no setting, and has no effect{one.guess}", "correct the name, or unset it")
            for one in unknown_settings(os.environ)
        ),
    )


def _unreadable(settings: Settings) -> Iterator[Problem]:
    """Yield what stops a server at its start, and no command that has no use for it."""
    # Of hooks that others may write the check of the files tells.
    exposed = {one.subject for one in exposed_files(settings)[0]}
    for value, read in ((settings.execution.hooks, read_hooks), (settings.disclosure.agents_config, read_config)):
        try:
            if value and value not in exposed:
                read(value)
        except InvalidSetting as error:
            fix = error.hint or "correct it; a server that needs it does not start"
            yield Problem(error.setting, error.message, fix)


CHECK = Check("settings", check_settings)
