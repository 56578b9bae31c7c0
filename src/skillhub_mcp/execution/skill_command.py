"""One command of a skill: what it starts, which packages it needs first, what it may touch, and where it may write."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.execution.command_policy import CommandPolicy, absolute_path_entries
from skillhub_mcp.execution.outputs import ARGUMENT, VARIABLE, Outputs, with_directory
from skillhub_mcp.execution.runner import CommandResult, RunLimits, run_command
from skillhub_mcp.execution.sandbox.model import Confinement, Sandbox, Tier
from skillhub_mcp.execution.script_environments import ScriptEnvironments
from skillhub_mcp.execution.script_packages import ScriptNeeds, read_needs

_GIT = ".git"


@dataclass(frozen=True, slots=True)
class CommandOptions:
    """Which commands of skills may run, within which limits, in which environment, and how they are confined.

    `environment` is that of a command, and `own_environment` the server's, which says where packages come from.
    `sandbox` raises SandboxUnavailable. No command sees the paths `hidden`, nor another skill.
    """

    policy: CommandPolicy
    limits: RunLimits
    environment: Callable[[], dict[str, str]]
    own_environment: Callable[[], Mapping[str, str]] = field(repr=False)
    sandbox: Callable[[], Sandbox]
    outputs: Outputs
    environments: ScriptEnvironments
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """What an agent asks for. `session` is a key that nobody else has, and `output_dir` a directory that it named."""

    command: str
    args: Sequence[str] = ()
    session: tuple[str, ...] = ("process",)
    output_dir: str | None = None


class SkillCommand:
    """A command of the skill in `directory`, not started yet."""

    def __init__(self, options: CommandOptions, request: CommandRequest, directory: str) -> None:
        self._options = options
        self._request = request
        self._cwd = Path(directory)
        self._environment = options.environment()

    def unfetched(self) -> tuple[str, ...]:
        """Return the packages that have to be fetched before it can run.

        Raises CommandNotAllowed, CommandUnavailable, InvalidArgument, and PackagesUnavailable for a script that
        declares what it must not.
        """
        # What is not allowed at all is not worth a question to the person.
        self._build(self._request.args)
        needs = self._needs
        return () if needs is None or self._options.environments.find(needs) is not None else needs.packages

    def run(
        self, confinement: Confinement, sandbox: Sandbox, *, network: bool, stop: threading.Event | None
    ) -> CommandResult:
        """Fetch what is missing, and run the command; the result names the files that it has written.

        `confinement` is what it may touch besides its output directory and packages. Raises what `unfetched` and
        `run_command` raise, and PackagesUnavailable.
        """
        directory, hidden = str(self._cwd), confinement.hidden
        try:
            output = self._options.outputs.open(
                self._request.session, self._request.output_dir, untouched=(directory, *hidden)
            )
        except OSError as error:
            raise InvalidArgument(ARGUMENT, f"cannot be made: {error.strerror or error}") from error
        python = self._python_with_packages(stop)
        arguments = with_directory(self._request.args, output.path)
        if python is None:
            argv = self._build(arguments)
        else:
            script = self._options.policy.python_arguments(self._request.command, arguments)
            argv = (python, *(script or ()))
        result = run_command(
            argv,
            cwd=self._cwd,
            limits=self._options.limits,
            environment={**self._environment, VARIABLE: output.path},
            stop=stop,
            sandbox=sandbox,
            confinement=Confinement(
                readable=(*confinement.readable, *([] if python is None else [str(Path(python).parents[1])])),
                writable=(*confinement.writable, output.path),
                hidden=(*hidden, *self._unapproved(sandbox)),
                network=network,
                identities={output.path: output.identity},
            ),
        )
        return replace(result, output_dir=output.path, files=output.written())

    def _unapproved(self, sandbox: Sandbox) -> tuple[str, ...]:
        """Return what in the skill is no part of what was approved, where it can be hidden from the command."""
        git = self._cwd / _GIT
        # Landlock can hide a part of a directory only by not letting the directory be listed.
        return (str(git),) if sandbox.tier is Tier.BUBBLEWRAP and git.is_dir() else ()

    def _build(self, arguments: Sequence[str]) -> tuple[str, ...]:
        search_path = self._environment.get("PATH", "")
        return self._options.policy.build_argv(self._request.command, arguments, cwd=self._cwd, search_path=search_path)

    def _python_with_packages(self, stop: threading.Event | None) -> str | None:
        """Return the Python of the script's environment, made first if need be; None for a command without packages."""
        needs, uv = self._needs, self._uv
        if needs is None or uv is None:
            return None
        found = self._options.environments.find(needs)
        if found is not None:
            return found
        own = self._options.own_environment()
        return self._options.environments.make(needs, script=self._script_name, uv=uv, environment=own, stop=stop)

    @cached_property
    def _uv(self) -> str | None:
        return shutil.which("uv", path=absolute_path_entries(self._environment.get("PATH", "")))

    @cached_property
    def _needs(self) -> ScriptNeeds | None:
        """What the script of the skill that is to be run declares; None where uv, which reads that, is not there."""
        script = self._options.policy.own_script(self._request.command, self._request.args, self._cwd)
        return None if script is None or self._uv is None else read_needs(script)

    @property
    def _script_name(self) -> str:
        script = self._options.policy.own_script(self._request.command, self._request.args, self._cwd)
        return "" if script is None else script.name
