"""Which tier this machine can keep, tried once at the start.

Each tier is tried with a command that does nothing: what a kernel, a container or a security module forbids is seen
only by trying, and its own words are the reason that a person is told.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from dataclasses import replace

from skillhub_mcp.errors import SandboxUnavailable
from skillhub_mcp.execution.command_policy import absolute_path_entries
from skillhub_mcp.execution.sandbox import bubblewrap, seccomp
from skillhub_mcp.execution.sandbox.launch import launched
from skillhub_mcp.execution.sandbox.model import OFF, Bubblewrap, Confinement, ResourceLimits, Sandbox, Tier

_TRIED_SECONDS = 10.0
_SHOWN_CHARACTERS = 300
_FEW = ResourceLimits(cpu_seconds=10, memory_bytes=1 << 28, open_files=64, processes=16, file_bytes=1 << 20)


def choose_sandbox(setting: str) -> Sandbox:
    """Return the sandbox that `SKILLHUB_SANDBOX` asks for: a tier, or `auto` for the strongest that works here.

    Starts a process for each tier that it tries. Raises SandboxUnavailable with the reasons.
    """
    if setting == Tier.OFF.value:
        return OFF
    if sys.platform != "linux":
        raise SandboxUnavailable({}, system=sys.platform)
    reasons: dict[str, str] = {}
    for tier, find in _TIERS.items():
        if setting in ("auto", tier.value):
            sandbox, reason = find()
            if sandbox is not None:
                return replace(sandbox, passed_over=tuple((Tier(name), why) for name, why in reasons.items()))
            reasons[tier.value] = reason
    raise SandboxUnavailable(reasons)


class ChosenSandbox:
    """The sandbox that a setting asks for, chosen at the first call and kept. Safe to call from several threads.

    Calls raise what `choose_sandbox` raised, each time; a machine does not change its mind.
    """

    def __init__(self, setting: str) -> None:
        self._setting = setting
        self._lock = threading.Lock()
        self._chosen: Sandbox | SandboxUnavailable | None = None

    def __call__(self) -> Sandbox:
        with self._lock:
            if self._chosen is None:
                try:
                    self._chosen = choose_sandbox(self._setting)
                except SandboxUnavailable as error:
                    self._chosen = error
        if isinstance(self._chosen, SandboxUnavailable):
            raise SandboxUnavailable(self._chosen.reasons, system=self._chosen.system)
        return self._chosen


def _find_bubblewrap() -> tuple[Sandbox | None, str]:
    # Clients start servers with short search paths; absolute entries only, so that it is no file of a project.
    path = shutil.which("bwrap", path=os.pathsep.join((absolute_path_entries(os.environ.get("PATH", "")), os.defpath)))
    if path is None:
        return None, "bwrap is not installed"
    try:
        shown = subprocess.run(
            [path, "--help"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TRIED_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f"{path} cannot be run: {error}"
    told = shown.stdout + shown.stderr
    options = frozenset(option for option in bubblewrap.OPTIONAL if f"{option} " in told)
    sandbox = Sandbox(Tier.BUBBLEWRAP, Bubblewrap(path, options))
    reason = _try(sandbox)
    return (None, reason) if reason else (sandbox, "")


def _find_landlock() -> tuple[Sandbox | None, str]:
    if not seccomp.supports(os.uname().machine):
        return None, f"no filter of system calls is known for {os.uname().machine}"
    version = _landlock_version()
    if version < 1:
        return None, "this kernel has no Landlock, or it is not switched on"
    reason = ""
    for namespaces in (True, False):
        sandbox = Sandbox(Tier.LANDLOCK, landlock=version, namespaces=namespaces)
        reason = _try(sandbox)
        if not reason:
            return sandbox, ""
    return None, reason


def _landlock_version() -> int:
    """Return the kernel's version of Landlock, or less than 1 where it has none."""
    import ctypes  # for servers that run commands only

    libc = ctypes.CDLL(None)
    create_ruleset, ask_for_version = 444, 1
    return int(libc.syscall(ctypes.c_long(create_ruleset), None, ctypes.c_size_t(0), ctypes.c_uint(ask_for_version)))


def _try(sandbox: Sandbox) -> str:
    """Return why nothing can be run in this sandbox, or nothing."""
    with launched(
        ("/bin/sh", "-c", ":"), cwd="/", environment={}, sandbox=sandbox, confinement=Confinement(), resources=_FEW
    ) as begun:
        launch = begun.launch
        try:
            done = subprocess.run(
                launch.argv,
                env=launch.environment,
                cwd=launch.cwd,
                pass_fds=launch.descriptors,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TRIED_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if begun.ended().exit_code == 0:
            return ""
    said = " ".join(done.stderr.decode("utf-8", "replace").split())
    return said[:_SHOWN_CHARACTERS] or f"it ended with exit code {done.returncode}"


_TIERS = {Tier.BUBBLEWRAP: _find_bubblewrap, Tier.LANDLOCK: _find_landlock}
