"""One confined command: its arguments, environment and descriptors, and what it says of its end."""

from __future__ import annotations

import logging
import marshal
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillhub_mcp.execution.sandbox import bubblewrap, landlock, seccomp
from skillhub_mcp.execution.sandbox.model import Confinement, Launch, ResourceLimits, Sandbox, Tier
from skillhub_mcp.execution.sandbox.places import own_interpreter, readable_places, uv_pythons

log = logging.getLogger(__name__)

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
        if any(word == "unconfined" for word, _, _ in said):
            return Ended(False)
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
    with ExitStack() as stack:
        reading, writing = _pipe(stack)
        os.set_blocking(reading, False)
        limits = {} if resources is None else _rlimits(resources, sandbox.tier)
        plan: dict[str, Any] = {"status": writing, "control": None, "private": "", "namespaces": False}
        plan |= {"limits": limits, "count_processes": False, "filter": b"", "landlock": None}
        plan["identities"] = {} if sandbox.tier is Tier.OFF else dict(confinement.identities)
        if sandbox.bubblewrap is not None:
            system = (*readable_places(argv[0], environment, network=confinement.network), CONFINE)
            wrapper = bubblewrap.arguments(
                sandbox.bubblewrap,
                confinement,
                system,
                cwd=os.path.realpath(cwd),
                temporary_bytes=resources.memory_bytes if resources else 0,
            )
            inner = inner_environment(
                environment, home=bubblewrap.HOME, temporary=bubblewrap.TEMPORARY, network=confinement.network
            )
            plan["filter"] = _filter(bubblewrap.calls(confinement))
            outer = (*wrapper, *_launcher(plan), *argv)
            yield Launched(Launch(outer, inner, "/", (writing,), takes_all_along=True), reading)
            return
        descriptors: tuple[int, ...] = (writing,)
        release = None
        if sys.platform == "linux":
            # The server has the other end: when it goes, by whatever signal, the command ends.
            watched, held = os.pipe()
            stack.callback(os.close, watched)
            release = _once(os.close, held)
            stack.callback(release)
            plan["control"] = watched
            descriptors = (writing, watched)
        if sandbox.tier is Tier.LANDLOCK:
            private = os.path.realpath(tempfile.mkdtemp(prefix="skillhub-run-"))
            # Removed by the one who ends last; what is left here is of one that was killed.
            stack.callback(_remove, private)
            home, temporary = os.path.join(private, "home"), os.path.join(private, "tmp")
            os.mkdir(home, 0o700)
            os.mkdir(temporary, 0o700)
            system = readable_places(argv[0], environment, network=confinement.network)
            plan |= {
                "private": private,
                "namespaces": sandbox.namespaces,
                "count_processes": not sandbox.namespaces,
                "filter": _filter(landlock.calls(sandbox, confinement)),
                "landlock": {
                    "abi": sandbox.landlock,
                    "read": landlock.readable_paths(confinement, system),
                    "write": landlock.writable_paths(confinement, private, own_memory=sandbox.namespaces),
                    "network": confinement.network,
                },
            }
            environment = inner_environment(environment, home=home, temporary=temporary, network=confinement.network)
        yield Launched(Launch((*_launcher(plan), *argv), environment, cwd, descriptors, release), reading)


def _remove(private: str) -> None:
    from skillhub_mcp.execution.sandbox.confine import remove  # not on Windows

    try:
        remove(private)
    except FileNotFoundError:
        return
    except OSError as error:
        log.warning("What a command left in %s cannot be removed: %s", private, error)


def _pipe(stack: ExitStack) -> tuple[int, int]:
    reading, writing = os.pipe()
    stack.callback(os.close, reading)
    stack.callback(os.close, writing)
    return reading, writing


def _once(close: Callable[[int], None], descriptor: int) -> Callable[[], None]:
    rest = [descriptor]

    def release() -> None:
        if rest:
            close(rest.pop())

    return release


def inner_environment(environment: Mapping[str, str], *, home: str, temporary: str, network: bool) -> Mapping[str, str]:
    """Return the environment of a confined command: a home of its own, and a uv that stays where it is."""
    kept = {name: value for name, value in environment.items() if name not in _OF_THE_USER}
    kept |= {"HOME": home, "TMPDIR": temporary, "UV_CACHE_DIR": os.path.join(home, ".cache", "uv")}
    kept["UV_PYTHON_INSTALL_DIR"] = uv_pythons(environment)
    if not network:
        kept |= {"UV_OFFLINE": "1", "UV_PYTHON_DOWNLOADS": "never"}
    return kept


def _launcher(plan: dict[str, Any]) -> tuple[str, ...]:
    # Without the user's site directories and variables: nothing of theirs runs before the command is confined.
    return (own_interpreter()[-1], "-I", "-S", "-B", CONFINE, marshal.dumps(plan).hex())


def _rlimits(limits: ResourceLimits, tier: Tier) -> Mapping[str, int]:
    wanted = {
        "RLIMIT_CPU": limits.cpu_seconds,
        # Not RLIMIT_AS: Node.js reserves far more addresses than it ever uses.
        "RLIMIT_DATA": limits.memory_bytes,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_CORE": 0,
    }
    return wanted if tier is Tier.OFF else wanted | {"RLIMIT_NPROC": limits.processes}


def _filter(calls: seccomp.Calls) -> bytes:
    machine = os.uname().machine
    return seccomp.program(machine, calls) if seccomp.supports(machine) else b""
