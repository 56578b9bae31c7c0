"""The program that confines itself, starts the command, and ends with it.

It runs as `python -I -S confine.py PLAN COMMAND…`, by its path and without SkillHub, in the sandbox or on its way in:
what it imports is paid for by every command. PLAN is the JSON object that `launch` writes.

To the descriptor `status` it writes lines: `begun`, then one of `errno N` (the command could not be started), `exit N`
and `signal N`.
"""

import base64
import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
_SECCOMP_MODE_FILTER = 2

_CANNOT_START = 127


def main() -> int:
    """Do what the plan says; the exit code is the command's, or 128 and more for a signal, as in a shell."""
    plan: dict[str, Any] = json.loads(sys.argv[1])
    command = sys.argv[2:]
    status: int = plan["status"]
    os.set_inheritable(status, False)
    if sys.platform == "linux":
        # What it holds open is not for the command, which has the same user.
        _prctl(_PR_SET_DUMPABLE, 0)
    os.write(status, b"begun\n")
    child = os.fork()
    if child == 0:
        _become(plan, command, status)
    return _report(status, _wait_for(child))


def _become(plan: dict[str, Any], command: list[str], status: int) -> None:
    """Confine this process and become the command. Never returns."""
    try:
        # A group of its own, so that a signal to it does not reach this program's parent.
        os.setsid()
        if sys.platform == "linux":
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            # Its own /proc would be closed to it otherwise.
            _prctl(_PR_SET_DUMPABLE, 1)
        _limit(plan["limits"])
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a command inherits that
            signal.signal(number, signal.SIG_DFL)
        if plan["filter"]:
            _prctl(_PR_SET_NO_NEW_PRIVS, 1)
            _filter_calls(base64.b64decode(plan["filter"]))
        os.execv(command[0], command)  # noqa: S606 - without a shell on purpose
    except OSError as error:
        os.write(status, b"errno %d\n" % (error.errno or 0))
    finally:
        os._exit(_CANNOT_START)


def _limit(limits: dict[str, int]) -> None:
    for name, wanted in limits.items():
        kind = getattr(resource, name, None)
        if kind is None:  # this system does not count it
            continue
        _, most = resource.getrlimit(kind)
        hard = wanted + (name == "RLIMIT_CPU")  # a second between the signal that can be caught and the one that cannot
        hard = hard if most == resource.RLIM_INFINITY else min(hard, most)
        with contextlib.suppress(ValueError):  # macOS refuses some
            resource.setrlimit(kind, (min(wanted, hard), hard))


def _wait_for(child: int) -> int:
    """Return the wait status of `child`, and reap what else ends meanwhile."""
    while True:
        pid, wait_status = os.wait()
        if pid == child:
            return wait_status


def _report(status: int, wait_status: int) -> int:
    if os.WIFSIGNALED(wait_status):
        number = os.WTERMSIG(wait_status)
        os.write(status, b"signal %d\n" % number)
        return 128 + number
    code = os.WEXITSTATUS(wait_status)
    os.write(status, b"exit %d\n" % code)
    return code


class _Program(ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _filter_calls(instructions: bytes) -> None:
    program = _Program(len(instructions) // 8, instructions)
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program))


def _prctl(option: int, *values: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    if libc.prctl(option, *arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


if __name__ == "__main__":
    sys.exit(main())
