"""One command of a skill: what it starts, which packages it needs, what it may touch, and where it may write."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from skillhub_mcp._util.file_modes import make_private_directory
from skillhub_mcp.errors import InvalidArgument, PackagesUnavailable
from skillhub_mcp.execution.command_policy import build_argv, declared_packages, own_script
from skillhub_mcp.execution.outputs import ARGUMENT, VARIABLE, Outputs, with_directory
from skillhub_mcp.execution.runner import CommandResult, RunLimits, reduced_environment, run_command
from skillhub_mcp.execution.sandbox import Confinement, Sandbox

_MAX_CACHES = 32
# Where packages come from, for a script that may fetch them.
_INDEX_VARIABLES = (
    *("UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_EXTRA_INDEX_URL"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
)


@dataclass(frozen=True, slots=True)
class CommandOptions:
    """Which commands of skills may run, within which limits, and how they are confined.

    `sandbox` raises SandboxUnavailable. Packages are kept below `caches`. No command sees the paths `hidden`.
    """

    allowed: tuple[str, ...]
    limits: RunLimits
    sandbox: Callable[[], Sandbox]
    outputs: Outputs
    caches: str
    hidden: tuple[str, ...] = ()


class SkillCommand:
    """A command of the skill in `directory`, not started yet."""

    def __init__(self, options: CommandOptions, directory: str, command: str, args: Sequence[str]) -> None:
        self._options = options
        self._cwd = Path(directory)
        self._command = command
        self._args = tuple(args)
        self._environment = reduced_environment(os.environ)

    @cached_property
    def packages(self) -> tuple[str, ...]:
        """The packages that its script declares. Raises what `build_argv` raises, and PackagesUnavailable."""
        # A command that is not allowed at all is not worth a question to the user.
        self._build(self._args)
        script = own_script(self._command, self._args, self._cwd)
        return () if script is None else declared_packages(script)

    def run(
        self,
        confinement: Confinement,
        sandbox: Sandbox,
        *,
        network: bool,
        session: tuple[str, ...],
        output_dir: str | None,
        stop: threading.Event | None,
    ) -> CommandResult:
        """Run the command with its packages; it may write to `output_dir`, else to the directory of its `session`.

        `session` is an unguessable key. Raises what `packages` and `run_command` raise.
        """
        hidden = confinement.hidden
        with ExitStack() as stack:
            opened = self._options.outputs.opened(session, output_dir, untouched=(str(self._cwd), *hidden))
            try:
                output = stack.enter_context(opened)
                cache = self._cache() if self.packages else {}
            except OSError as error:
                raise InvalidArgument(ARGUMENT, f"cannot be made: {error.strerror or error}") from error
            result = run_command(
                self._build(with_directory(self._args, output.path)),
                cwd=self._cwd,
                limits=self._options.limits,
                environment={**self._environment, **cache, VARIABLE: output.path},
                stop=stop,
                sandbox=sandbox,
                confinement=replace(
                    confinement,
                    writable=(*confinement.writable, *filter(None, [cache.get("UV_CACHE_DIR")])),
                    opened={output.path: output.descriptor},
                    # Not part of what the user approved.
                    hidden=(*hidden, str(self._cwd / ".git")),
                    network=network or bool(self.packages),
                ),
            )
            return replace(result, output_dir=output.path, files=output.written())

    def _build(self, arguments: Sequence[str]) -> tuple[str, ...]:
        path = self._environment["PATH"]
        return build_argv(self._options.allowed, self._command, arguments, cwd=self._cwd, search_path=path)

    def _cache(self) -> dict[str, str]:
        """Return the variables for uv: a cache that no other skill writes to, and the index without passwords."""
        if shutil.which("uv", path=self._environment["PATH"]) is None:
            script = Path(self._args[0]).name
            raise PackagesUnavailable(script, "uv is not installed", hint="install uv, which fetches them")
        cache = os.path.join(self._options.caches, hashlib.sha256(os.fsencode(self._cwd)).hexdigest()[:16])
        make_private_directory(cache)
        os.utime(cache)
        kept = sorted(Path(self._options.caches).iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for unused in kept[_MAX_CACHES:]:
            shutil.rmtree(unused, ignore_errors=True)
        # A URL with a password is not passed on.
        given = {name: os.environ[name] for name in _INDEX_VARIABLES if name in os.environ}
        index = {name: value for name, value in given.items() if "@" not in value}
        return {**index, "UV_CACHE_DIR": os.path.realpath(cache)}
