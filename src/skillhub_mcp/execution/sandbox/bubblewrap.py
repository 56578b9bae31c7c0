"""The arguments of `bwrap`, which shows a program no more than it may use.

A new root is made of what the program needs and may use; the rest of the machine is not there. Its processes, network,
users and shared memory are namespaces of their own, which end with it: a child that left its session and cleared its
environment too.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from skillhub_mcp.execution.sandbox import seccomp
from skillhub_mcp.execution.sandbox.model import Bubblewrap, Confinement

TEMPORARY = "/tmp"  # noqa: S108 - in the sandbox, where nobody else has it
HOME = "/tmp/home"  # noqa: S108

# Options that not every version has: --disable-userns came with 0.8, --size with 0.7.
OPTIONAL = ("--disable-userns", "--size", "--remount-ro")


class Kind(Enum):
    """What becomes of one path."""

    READABLE = "--ro-bind-try"
    WRITABLE = "--bind-try"
    HIDDEN = "--tmpfs"


@dataclass(frozen=True, slots=True)
class Mount:
    """One mount: `source`, on this machine, at `target`, in the sandbox."""

    target: str
    source: str
    kind: Kind


def arguments(
    bubblewrap: Bubblewrap,
    confinement: Confinement,
    system: Sequence[str],
    *,
    cwd: str,
    temporary_bytes: int,
) -> tuple[str, ...]:
    """Return the command line up to and with `--`. `system` is what the program needs; `cwd` is a real path.

    Looks at the files to follow links, and leaves out what is not there.
    """
    options = bubblewrap.options
    sized = ("--size", str(temporary_bytes)) if "--size" in options else ()
    words = [bubblewrap.path, "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session"]
    # As the first process of its namespace our program cannot be killed from inside.
    words += ["--cap-drop", "ALL", "--as-pid-1"]
    if confinement.network:
        words.append("--share-net")
    if "--disable-userns" in options:
        words.append("--disable-userns")
    words += ["--proc", "/proc", "--dev", "/dev", *sized, "--tmpfs", "/dev/shm"]  # noqa: S108
    words += [*sized, "--tmpfs", TEMPORARY, "--dir", HOME]
    hidden: list[str] = []
    for mount in mounts(confinement, system):
        if mount.kind is not Kind.HIDDEN:
            words += [mount.kind.value, mount.source, mount.target]
        elif os.path.isdir(mount.source):
            words += [Kind.HIDDEN.value, mount.target]
            hidden.append(mount.target)
        else:
            words += ["--ro-bind", "/dev/null", mount.target]
    if "--remount-ro" in options:
        # Of /proc too: of the kernel's settings root may change what its user owns, even without capabilities.
        for target in (*hidden, "/dev", "/proc", "/"):
            words += ["--remount-ro", target]
    return (*words, "--chdir", cwd, "--")


def calls(confinement: Confinement) -> seccomp.Calls:
    """Return what the filter of system calls has to refuse besides what every filter does."""
    inet = (seccomp.AF_INET, seccomp.AF_INET6, seccomp.AF_NETLINK)
    # In a network of its own a program meets nobody; in the machine's, local sockets lead to the user's other programs.
    return seccomp.Calls(families=inet if confinement.network else (seccomp.AF_UNIX, *inet))


def mounts(confinement: Confinement, system: Sequence[str]) -> tuple[Mount, ...]:
    """Return what is mounted, the outer paths first, so that of two paths the inner one decides."""
    shown: dict[str, Mount] = {}
    wanted = [(path, Kind.READABLE) for path in (*system, *confinement.readable)]
    wanted += [(path, Kind.WRITABLE) for path in confinement.writable]
    for path, kind in wanted:
        real = confinement.real(path)
        if os.path.exists(real):
            shown[real] = Mount(real, real, kind)
    # Where a path leads through links, it is there by that path too: programs are told it.
    for path, kind in wanted:
        named, real = os.path.abspath(path), confinement.real(path)
        if real in shown and not any(is_below(named, target) for target in shown):
            shown[named] = Mount(named, real, kind)
    masked: dict[str, Mount] = {}
    for path in confinement.hidden:
        real = os.path.realpath(path)
        for mount in shown.values():
            if real != mount.source and is_below(real, mount.source) and os.path.exists(real):
                target = os.path.normpath(os.path.join(mount.target, os.path.relpath(real, mount.source)))
                if target not in shown:
                    masked[target] = Mount(target, real, Kind.HIDDEN)
    everything = [*shown.values(), *masked.values()]
    return tuple(sorted(_without_doubles(everything), key=lambda mount: (mount.target.count("/"), mount.target)))


def _without_doubles(mounts: Sequence[Mount]) -> list[Mount]:
    """Leave out what is there already, as a part of what contains it."""
    by_target = {mount.target: mount for mount in mounts}

    def container(mount: Mount) -> Mount | None:
        folder = mount.target
        while folder != "/":
            folder = os.path.dirname(folder)
            if folder in by_target:
                return by_target[folder]
        return None

    kept: list[Mount] = []
    for mount in mounts:
        around = container(mount)
        if around is None or around.kind is not mount.kind or around.kind is Kind.HIDDEN:
            kept.append(mount)
            continue
        if os.path.join(around.source, os.path.relpath(mount.target, around.target)) != mount.source:
            kept.append(mount)
    return kept


def is_below(path: str, directory: str) -> bool:
    """Whether a path is a directory or in it, both absolute and normal."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")
