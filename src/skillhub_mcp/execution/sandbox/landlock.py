"""What a program may touch in the landlock tier, which can only allow: directories without what is hidden in them.

The paths stay as they are on this machine. A program sees names and sizes of files that it cannot open, if it knows
their paths.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from skillhub_mcp.execution.sandbox import seccomp
from skillhub_mcp.execution.sandbox.bubblewrap import is_below
from skillhub_mcp.execution.sandbox.model import Confinement, Sandbox

# Of /dev what programs read and write; of /proc oneself, and what says how large the machine is.
_DEVICES_READ = ("/dev/random", "/dev/urandom")
_DEVICES_WRITTEN = ("/dev/null", "/dev/zero", "/dev/full")
_ABOUT_THE_MACHINE = tuple(
    f"/proc/{name}"
    for name in (
        "self",
        "cpuinfo",
        "meminfo",
        "stat",
        "loadavg",
        "uptime",
        "version",
        "filesystems",
        "sys/kernel/pid_max",
    )
)
_SHARED_MEMORY = "/dev/shm"  # noqa: S108
_SCOPES_SINCE, _TRUNCATION_SINCE = 6, 3


def readable_paths(confinement: Confinement, system: Sequence[str]) -> tuple[str, ...]:
    """Return what a program may read and execute. Lists the directories in which something is hidden."""
    return (
        *_without_hidden((*system, *confinement.readable), confinement),
        *_DEVICES_READ,
        *_ABOUT_THE_MACHINE,
    )


def writable_paths(confinement: Confinement, private: str, *, own_memory: bool) -> tuple[str, ...]:
    """Return what a program may change: `private`, its own directory, what was given to it, and memory that its
    processes share, if that is its own.
    """
    memory = (_SHARED_MEMORY,) if own_memory and os.path.isdir(_SHARED_MEMORY) else ()
    return (private, *_without_hidden(confinement.writable, confinement), *memory, *_DEVICES_WRITTEN)


def calls(sandbox: Sandbox, confinement: Confinement) -> seccomp.Calls:
    """Return what the filter of system calls has to refuse, because this Landlock and these namespaces do not."""
    inet = (seccomp.AF_INET, seccomp.AF_INET6, seccomp.AF_NETLINK)
    return seccomp.Calls(
        # Local sockets are files that Landlock does not cover. The rest is harmless in a network of its own.
        families=inet if sandbox.namespaces or confinement.network else (),
        shared_files=not sandbox.namespaces,
        shared_kernel=not sandbox.namespaces,
        shared_signals=not sandbox.namespaces and sandbox.landlock < _SCOPES_SINCE,
        truncation=not sandbox.namespaces and sandbox.landlock < _TRUNCATION_SINCE,
    )


def _without_hidden(paths: Sequence[str], confinement: Confinement) -> Iterable[str]:
    shown = {confinement.real(path) for path in paths}
    hidden = {os.path.realpath(path) for path in confinement.hidden} - shown
    for path in sorted(shown):
        yield from _parts(path, hidden)


def _parts(path: str, hidden: set[str]) -> Iterable[str]:
    """Yield the path, or where something is hidden in it what else it has. Links in it may lead anywhere: not those."""
    inside = {one for one in hidden if is_below(one, path)}
    if not inside:
        yield path
    elif path not in inside:
        try:
            names = sorted(os.listdir(path))
        except OSError:
            return
        for name in names:
            part = os.path.join(path, name)
            if not os.path.islink(part):
                yield from _parts(part, inside)
