"""Run one command within limits of time and output.

`execution.command_policy` decides what may run, and `execution.sandbox` what a running program may touch.
"""

from __future__ import annotations

import codecs
import errno
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from skillhub_mcp.errors import CommandUnavailable, InvalidArgument, SandboxFailed, SkillFileNotFound
from skillhub_mcp.execution.command_policy import absolute_path_entries
from skillhub_mcp.execution.program import ProgramEnded, kill_group, wait
from skillhub_mcp.execution.sandbox import OFF, Confinement, Sandbox, launched
from skillhub_mcp.sanitize import in_line

log = logging.getLogger(__name__)

# The variables of the server's environment that a command gets: names, never patterns, so that no secret is passed on
# (people give their own variables the prefix LC_). The URLs of proxies and package indexes often contain a password.
_PASSED_VARIABLES = (
    *("HOME", "USER", "LOGNAME", "TZ", "TMPDIR"),
    *("LANG", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME"),
    *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "UV_CACHE_DIR", "UV_PYTHON_INSTALL_DIR"),
    *("UV_OFFLINE", "UV_PYTHON_DOWNLOADS"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
)
_FIXED_VARIABLES = {
    # Running a script must not write `__pycache__` into the skill.
    "PYTHONDONTWRITEBYTECODE": "1",
    # Output is read as UTF-8, whatever the system's locale is.
    "PYTHONUTF8": "1",
    # Keeps the output from before a timeout.
    "PYTHONUNBUFFERED": "1",
}

_CHUNK_BYTES = 64 * 1024
# Without a sandbox a process that left the group may hold the output open.
_DRAIN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The limits of one run: `timeout_seconds` of wall-clock time and `max_output_bytes` for each stream."""

    timeout_seconds: float
    max_output_bytes: int


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command.

    `exit_code` is -N if the hub killed the command with signal N; if another signal N ended a confined command it is
    128 + N, as in a shell. A truncated stream has its beginning, cut between characters. `files` are those that the
    command has written to `output_dir`; both are empty for a command of our own.
    """

    stdout: str
    stderr: str
    exit_code: int
    timeout: bool
    stdout_truncated: bool
    stderr_truncated: bool
    output_dir: str = ""
    files: tuple[str, ...] = ()


def reduced_environment(source: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command: few variables, no keys and tokens, absolute entries of PATH, UTF-8."""
    environment = {name: source[name] for name in _PASSED_VARIABLES if name in source}
    environment["PATH"] = absolute_path_entries(source.get("PATH", ""))
    if not any(source.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG")):
        environment["LANG"] = "C.UTF-8"
    return environment | _FIXED_VARIABLES


def run_command(
    argv: Sequence[str],
    *,
    cwd: Path,
    limits: RunLimits,
    environment: Mapping[str, str],
    stop: threading.Event | None = None,
    sandbox: Sandbox = OFF,
    confinement: Confinement | None = None,
) -> CommandResult:
    """Run `argv` in `cwd` without a shell and with an empty stdin, and return the result.

    Returns when the first process has ended, the time is up or `stop` is set; its process group is then killed, and in
    a `sandbox` every process. There the command may touch what `confinement` says, by default read `cwd`.

    Raises SkillFileNotFound if `cwd` cannot be entered, CommandUnavailable if the program cannot be started,
    SandboxFailed if the sandbox cannot be set up, and InvalidArgument if the arguments are too long for the system.
    """
    if os.name != "posix":
        # Without process groups a command's children may outlive it.
        raise CommandUnavailable(argv[0])
    if not (cwd.is_dir() and os.access(cwd, os.X_OK)):
        hint = "the skill's directory no longer exists, or the server may not enter it"
        raise SkillFileNotFound(cwd.name, ".", "cannot be entered", hint=hint)
    if sandbox is OFF:
        return _run(argv, str(cwd), environment, limits, stop)
    if not os.access(argv[0], os.X_OK):
        raise CommandUnavailable(Path(argv[0]).name)
    confinement = confinement or Confinement(readable=(str(cwd),))
    with launched(argv, cwd=str(cwd), environment=environment, sandbox=sandbox, confinement=confinement) as launch:
        result = _run(launch.argv, "/", launch.environment, limits, stop, launch.descriptors)
        exit_code = launch.exit_code()
    if exit_code is not None:
        return replace(result, exit_code=exit_code)
    # Killed by us, perhaps before it began: a slow machine is not a sandbox that failed.
    if result.exit_code == -signal.SIGKILL:
        return result
    failed = SandboxFailed(Path(argv[0]).name, reason=in_line(result.stderr) or f"exit code {result.exit_code}")
    log.warning("%s: %s", failed.message, failed.reason)
    raise failed


def _run(
    argv: Sequence[str],
    cwd: str,
    environment: Mapping[str, str],
    limits: RunLimits,
    stop: threading.Event | None,
    descriptors: tuple[int, ...] = (),
) -> CommandResult:
    try:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            pass_fds=descriptors,
        )
    except OSError as error:
        if error.errno == errno.E2BIG:
            raise InvalidArgument("args", "are longer than this system allows") from error
        if error.errno in {errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR}:
            raise CommandUnavailable(Path(argv[0]).name) from error
        raise
    # Popen has both pipes, since both were requested.
    assert process.stdout is not None  # noqa: S101 - for the type checker
    assert process.stderr is not None  # noqa: S101 - for the type checker
    timed_out = False
    try:
        stdout = _Beginning(process.stdout, limits.max_output_bytes)
        stderr = _Beginning(process.stderr, limits.max_output_bytes)
        wait(process, limits.timeout_seconds, lambda: "it was cancelled" if stop is not None and stop.is_set() else "")
    except ProgramEnded as ended:
        timed_out = not ended.excess
    finally:
        # Also when the calling thread is interrupted.
        kill_group(process)
    return CommandResult(
        stdout=stdout.text(),
        stderr=stderr.text(),
        # None: killed, but still stuck in the kernel.
        exit_code=-signal.SIGKILL if process.returncode is None else process.returncode,
        timeout=timed_out,
        stdout_truncated=stdout.truncated,
        stderr_truncated=stderr.truncated,
    )


class _Beginning(threading.Thread):
    """Reads a stream to its end and keeps its beginning, so that the writer is never blocked."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        super().__init__(daemon=True)
        self.truncated = False
        self._stream = stream
        self._limit = limit
        self._content = bytearray()
        self.start()

    def run(self) -> None:
        with self._stream:
            while chunk := self._stream.read(_CHUNK_BYTES):
                room = self._limit - len(self._content)
                self._content += chunk[:room]
                self.truncated = self.truncated or len(chunk) > room

    def text(self) -> str:
        """Return what was read when the process had ended."""
        self.join(_DRAIN_SECONDS)
        # Not final when truncated: an incomplete character is left out instead of replaced.
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        return decoder.decode(bytes(self._content), final=not self.truncated)
