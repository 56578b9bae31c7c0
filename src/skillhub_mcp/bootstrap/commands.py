"""Running commands of skills: the allow list, the limits and the sandbox."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from skillhub_mcp.bootstrap.places import beside_index
from skillhub_mcp.settings import Settings

if TYPE_CHECKING:
    from skillhub_mcp.execution.runner import RunLimits
    from skillhub_mcp.execution.sandbox.choice import ChosenSandbox
    from skillhub_mcp.execution.sandbox.model import Sandbox
    from skillhub_mcp.execution.skill_command import CommandOptions


def command_options(settings: Settings) -> CommandOptions:
    from skillhub_mcp.execution.command_policy import CommandPolicy  # only servers that run commands pay for it
    from skillhub_mcp.execution.outputs import Outputs
    from skillhub_mcp.execution.runner import reduced_environment
    from skillhub_mcp.execution.script_environments import ScriptEnvironments
    from skillhub_mcp.execution.skill_command import CommandOptions

    outputs, environments = beside_index(settings, "outputs"), beside_index(settings, "environments")
    kept = ("~/.skillhub", os.path.abspath(settings.index.db_path), outputs, environments)
    return CommandOptions(
        CommandPolicy(settings.execution.allowed_commands),
        run_limits(settings),
        environment=lambda: reduced_environment(os.environ),
        own_environment=lambda: os.environ,
        sandbox=chosen_sandbox(settings),
        outputs=Outputs(outputs, settings.execution.output_dirs),
        environments=ScriptEnvironments(environments),
        hidden=tuple(map(os.path.expanduser, kept)),
    )


def run_limits(settings: Settings) -> RunLimits:
    """Return what one command of a skill may take."""
    from skillhub_mcp.execution.runner import RunLimits
    from skillhub_mcp.execution.sandbox.model import ResourceLimits

    execution = settings.execution
    return RunLimits(
        execution.timeout_seconds,
        execution.max_output_bytes,
        ResourceLimits(
            cpu_seconds=execution.max_cpu_seconds,
            memory_bytes=execution.max_memory_bytes,
            open_files=execution.max_open_files,
            processes=execution.max_processes,
            file_bytes=execution.max_written_file_bytes,
        ),
    )


def chosen_sandbox(settings: Settings) -> Callable[[], Sandbox]:
    """Return a function for the sandbox of commands, which is chosen once. It raises SandboxUnavailable."""
    kept = cache(_chosen_sandbox)

    def sandbox() -> Sandbox:
        return kept(settings.execution.sandbox)()

    return sandbox


def _chosen_sandbox(setting: str) -> ChosenSandbox:
    from skillhub_mcp.execution.sandbox.choice import ChosenSandbox  # only servers that run commands pay for it

    return ChosenSandbox(setting)
