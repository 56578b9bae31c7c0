"""The environments of scripts that declare packages: made by uv in a step of their own, with network, and kept.

The step runs no code of a skill or of a package: only wheels are installed. Where packages come from is settled by
uv's settings in the environment of the server and in its user's `uv.toml`; no file of a skill or a project is read.
The script then runs without network, with the environment as it is.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from skillhub_mcp.errors import PackagesUnavailable
from skillhub_mcp.execution.runner import RunLimits, reduced_environment, run_command
from skillhub_mcp.execution.script_packages import ScriptNeeds
from skillhub_mcp.file_modes import make_private_directory

_LIMITS = RunLimits(timeout_seconds=300, max_output_bytes=64 * 1024)
_MAX_KEPT = 32
# Not removed, however many there are: a script may be running in it.
_IN_USE_SECONDS = 3_600
_LOCK_POLL_SECONDS = 0.5
_SHOWN_CHARACTERS = 1_000

# Which index, which proxy, which certificates: what a command must not know is what this step needs.
_PASSED_PREFIX = "UV_"
_PASSED = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy")
_READY = "ready"


class ScriptEnvironments:
    """The environments in `directory`, which is the owner's alone, one for each set of needs. Thread-safe."""

    def __init__(self, directory: str) -> None:
        self._directory = Path(directory)

    def find(self, needs: ScriptNeeds) -> str | None:
        """Return the Python of the environment that has what is needed, if it was made before."""
        there = self._directory / needs.key
        python = there / "venv" / "bin" / "python"
        try:
            os.utime(there / _READY)
        except OSError:
            return None
        # The Python that it was made with may have been removed since.
        return str(python) if python.exists() else None

    def make(
        self,
        needs: ScriptNeeds,
        *,
        script: str,
        uv: str,
        environment: Mapping[str, str],
        stop: threading.Event | None = None,
    ) -> str:
        """Make the environment, unless another call or process has, and return its Python.

        `uv` is the program's path, and `environment` the server's own. Raises PackagesUnavailable, naming `script`.
        """
        from filelock import FileLock, Timeout

        there = self._directory / needs.key
        try:
            make_private_directory(str(there))
            self._directory.chmod(0o700)
            lock = FileLock(str(self._directory / f"{needs.key}.lock"), mode=0o600)
            while True:
                try:
                    lock.acquire(timeout=_LOCK_POLL_SECONDS)
                    break
                except Timeout:
                    _check_stopped(script, stop)
            try:
                found = self.find(needs)
                if found is None:
                    self._install(there, needs, script, uv, environment, stop)
                    found = str(there / "venv" / "bin" / "python")
                    (there / _READY).touch()
                    self._remove_unused()
                return found
            finally:
                lock.release()
        except OSError as error:
            reason = f"the environment cannot be kept: {error.strerror or error}"
            raise PackagesUnavailable(script, reason) from error

    def _install(
        self,
        there: Path,
        needs: ScriptNeeds,
        script: str,
        uv: str,
        environment: Mapping[str, str],
        stop: threading.Event | None,
    ) -> None:
        (there / _READY).unlink(missing_ok=True)
        shutil.rmtree(there / "venv", ignore_errors=True)
        wanted, locked = there / "requirements.txt", there / "constraints.txt"
        wanted.write_text("".join(f"{package}\n" for package in needs.packages), encoding="utf-8")
        locked.write_text("".join(f"{package}\n" for package in needs.locked), encoding="utf-8")
        settings = _settings_options(environment)
        python = ("--python", needs.python) if needs.python else ()
        newer = ("--exclude-newer", needs.exclude_newer) if needs.exclude_newer else ()
        for arguments in (
            ("venv", "--quiet", *settings, "--no-project", *python, "venv"),
            (
                *("pip", "install", "--quiet", *settings, "--no-build", "--python", "venv/bin/python", *newer),
                *("--constraint", locked.name, "--requirement", wanted.name),
            ),
        ):
            result = run_command(
                (uv, *arguments), cwd=there, limits=_LIMITS, environment=_step_environment(environment), stop=stop
            )
            _check_stopped(script, stop)
            if result.timeout:
                raise PackagesUnavailable(script, f"uv needed more than {_LIMITS.timeout_seconds:g} seconds")
            if result.exit_code != 0:
                raise _failure(script, result.stderr)

    def _remove_unused(self) -> None:
        """Remove the environments that were not used for longest, beyond the number that is kept."""
        now = time.time()
        used = []
        for ready in self._directory.glob(f"*/{_READY}"):
            with contextlib.suppress(OSError):
                used.append((ready.stat().st_mtime, ready.parent))
        for at, there in sorted(used, reverse=True)[_MAX_KEPT:]:
            if now - at > _IN_USE_SECONDS:
                shutil.rmtree(there, ignore_errors=True)


def _settings_options(environment: Mapping[str, str]) -> Sequence[str]:
    """Return the options that let uv read its user's settings, or the machine's, and no project's."""
    home = environment.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    for path in (environment.get("UV_CONFIG_FILE", ""), os.path.join(home, "uv", "uv.toml"), "/etc/uv/uv.toml"):
        if path and os.path.exists(path):
            return ("--config-file", path)
    return ("--no-config",)


def _step_environment(environment: Mapping[str, str]) -> dict[str, str]:
    passed = {name: value for name, value in environment.items() if name.startswith(_PASSED_PREFIX) or name in _PASSED}
    return {**reduced_environment(environment), **passed, "UV_NO_PROGRESS": "1"}


def _check_stopped(script: str, stop: threading.Event | None) -> None:
    if stop is not None and stop.is_set():
        raise PackagesUnavailable(script, "the call was cancelled")


def _failure(script: str, said: str) -> PackagesUnavailable:
    text = " ".join(said.split())[:_SHOWN_CHARACTERS]
    hint = None
    if "source distribution" in text or "no-build" in text:
        hint = (
            "only wheels are installed, since building a package runs its code: name a version that has a wheel, "
            "or run the script in your own terminal"
        )
    return PackagesUnavailable(script, text or "uv gave no reason", hint=hint)
