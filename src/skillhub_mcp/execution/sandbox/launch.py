"""One confined command: its arguments, environment and descriptors, and what it says of its end."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from skillhub_mcp.execution.sandbox import bubblewrap, seccomp
from skillhub_mcp.execution.sandbox.model import Confinement, Launch, ResourceLimits, Sandbox, Tier
from skillhub_mcp.execution.sandbox.places import own_interpreter, readable_places, uv_pythons

CONFINE = str(Path(__file__).with_name("confine.py"))

# Of the server's user, and not for a command that sees nothing of that user.
_OF_THE_USER = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TMPDIR", "HOME")
_STATUS_BYTES = 4096
_MAX_DIGITS = 5


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit code (negative: a signal's number), or the system's error that kept it from
    starting. With neither it was killed from outside, or with `begun` false its sandbox did not come about.
    """

    begun: bool
    exit_code: int | None = None
    error: int | None = None


@dataclass(frozen=True, slots=True)
class Launched:
    """What to start, and a way to learn how it ended."""

    launch: Launch
    _status: int

    def ended(self) -> Ended:
        """Return what was said until now of the end. Call it once, after the end."""
        try:
            lines = os.read(self._status, _STATUS_BYTES).decode("ascii", "replace").splitlines()
        except BlockingIOError:
            lines = []
        said = [line.partition(" ") for line in lines]
        for word, _, number in said:
            if number.isdecimal() and len(number) <= _MAX_DIGITS:
                if word == "errno":
                    return Ended(True, error=int(number))
                if word in ("exit", "signal"):
                    return Ended(True, exit_code=int(number) if word == "exit" else -int(number))
        return Ended(any(word == "begun" for word, _, _ in said))


@contextmanager
def launched(
    argv: Sequence[str],
    *,
    cwd: str,
    environment: Mapping[str, str],
    sandbox: Sandbox,
    confinement: Confinement,
    resources: ResourceLimits | None,
) -> Iterator[Launched]:
    """Yield how to start `argv`, an absolute path and its arguments, in the directory `cwd`, confined."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    try:
        plan = json.dumps(_plan(sandbox, confinement, resources, status=writing), separators=(",", ":"))
        confined = (*_launcher(), plan, *argv)
        if sandbox.bubblewrap is None:
            yield Launched(Launch(confined, environment, cwd, (writing,)), reading)
        else:
            system = (*readable_places(argv[0], environment, network=confinement.network), CONFINE)
            real = os.path.realpath(cwd)
            wrapper = bubblewrap.arguments(
                sandbox.bubblewrap,
                confinement,
                system,
                cwd=real,
                temporary_bytes=resources.memory_bytes if resources else 0,
            )
            inner = inner_environment(
                environment, home=bubblewrap.HOME, temporary=bubblewrap.TEMPORARY, network=confinement.network
            )
            yield Launched(Launch((*wrapper, *confined), inner, "/", (writing,)), reading)
    finally:
        os.close(reading)
        os.close(writing)


def inner_environment(environment: Mapping[str, str], *, home: str, temporary: str, network: bool) -> Mapping[str, str]:
    """Return the environment of a confined command: a home of its own, and a uv that stays where it is."""
    kept = {name: value for name, value in environment.items() if name not in _OF_THE_USER}
    kept |= {"HOME": home, "TMPDIR": temporary, "UV_CACHE_DIR": os.path.join(home, ".cache", "uv")}
    kept["UV_PYTHON_INSTALL_DIR"] = uv_pythons(environment)
    if not network:
        kept |= {"UV_OFFLINE": "1", "UV_PYTHON_DOWNLOADS": "never"}
    return kept


def _launcher() -> tuple[str, ...]:
    # Without the user's site directories and variables: nothing of theirs runs before the command is confined.
    return (own_interpreter()[-1], "-I", "-S", "-B", CONFINE)


def _plan(
    sandbox: Sandbox, confinement: Confinement, resources: ResourceLimits | None, *, status: int
) -> Mapping[str, object]:
    return {
        "status": status,
        "limits": {} if resources is None else _rlimits(resources, sandbox.tier),
        "filter": "" if sandbox.tier is Tier.OFF else _filter(confinement),
    }


def _rlimits(limits: ResourceLimits, tier: Tier) -> Mapping[str, int]:
    wanted = {
        "RLIMIT_CPU": limits.cpu_seconds,
        # Not RLIMIT_AS: Node.js reserves far more addresses than it ever uses.
        "RLIMIT_DATA": limits.memory_bytes,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_CORE": 0,
    }
    # The kernel counts all processes of a user; only in a namespace of users does it count those of the run.
    return wanted | {"RLIMIT_NPROC": limits.processes} if tier is Tier.BUBBLEWRAP else wanted


def _filter(confinement: Confinement) -> str:
    machine = os.uname().machine
    if not seccomp.supports(machine):
        return ""
    # In a network of its own a program meets nobody; in the machine's, local sockets lead to the user's other programs.
    own = (seccomp.AF_UNIX, seccomp.AF_INET, seccomp.AF_INET6, seccomp.AF_NETLINK)
    families = own[1:] if confinement.network else own
    return base64.b64encode(seccomp.program(machine, seccomp.Calls(families))).decode("ascii")
