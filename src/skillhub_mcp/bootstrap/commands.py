"""Running commands of skills: the allow list, the limits and the sandbox."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from skillhub_mcp.bootstrap.places import beside_index
from skillhub_mcp.environment import expand_home
from skillhub_mcp.settings import Settings

if TYPE_CHECKING:
    from skillhub_mcp.execution.skill_command import CommandOptions


def command_options(settings: Settings) -> CommandOptions:
    from skillhub_mcp.execution.command_policy import CommandPolicy  # only servers that run commands pay for it
    from skillhub_mcp.execution.outputs import Outputs
    from skillhub_mcp.execution.runner import RunLimits, reduced_environment
    from skillhub_mcp.execution.sandbox import find_sandbox
    from skillhub_mcp.execution.skill_command import CommandOptions

    outputs, caches = beside_index(settings, "outputs"), beside_index(settings, "packages")
    kept = ("~/.skillhub", os.path.abspath(settings.index.db_path), outputs, caches)
    execution = settings.execution
    return CommandOptions(
        CommandPolicy(execution.allowed_commands),
        RunLimits(execution.timeout_seconds, execution.max_output_bytes),
        environment=lambda: reduced_environment(os.environ),
        own_environment=lambda: os.environ,
        sandbox=partial(find_sandbox, execution.sandbox),
        outputs=Outputs(outputs, execution.output_dirs),
        caches=caches,
        hidden=tuple(map(expand_home, kept)),
    )
