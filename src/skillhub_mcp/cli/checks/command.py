"""The distribution that the `skillhub-mcp` command on PATH belongs to."""

from __future__ import annotations

from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.cli.installed_command import CommandOwner, InstalledCommand, command_on_path, own_command
from skillhub_mcp.cli.output import one_line
from skillhub_mcp.skills.problems import Problem


def check_command(_: Installation) -> CheckResult:
    """Return whose command is on PATH, and a problem where it is another program's."""
    command = command_on_path()
    if command is None:
        return CheckResult(details=("command   skillhub-mcp is not on PATH",), facts={"command": None})
    owner = f"{command.distribution} {command.version}, " if command.distribution else ""
    return CheckResult(
        problems=_of_another_program(command),
        details=(f"command   {command.path}: {owner}{command.owner.value}",),
        facts={
            "command": {
                "path": command.path,
                "distribution": command.distribution or None,
                "version": command.version or None,
                "owner": command.owner.value,
            }
        },
    )


def _of_another_program(command: InstalledCommand) -> tuple[Problem, ...]:
    if command.owner is not CommandOwner.OTHER_PROGRAM:
        return ()
    own = own_command()
    return (
        Problem(
            command.path,
            f"belongs to another program: {command.distribution} {command.version}"
            + (f" ({one_line(command.summary, width=100)})" if command.summary else ""),
            "put this installation's directory of commands first on PATH, or "
            + (f"give clients the command {own}" if own else "install this program from a checkout"),
        ),
    )


CHECK = Check("command", check_command)
