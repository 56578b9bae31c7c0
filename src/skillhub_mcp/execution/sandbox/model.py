"""The values of the sandbox: tiers, confinements, limits on resources, and what is started."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum


class Tier(str, Enum):
    """How a command is confined, the strongest first."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """What one command may use up.

    `cpu_seconds`, `memory_bytes`, `open_files` and `file_bytes` hold for each of its processes, `processes` for the
    whole run. `memory_bytes` also bounds its temporary directory where that is in memory.
    """

    cpu_seconds: int
    memory_bytes: int
    open_files: int
    processes: int
    file_bytes: int


@dataclass(frozen=True, slots=True)
class Confinement:
    """What one command may touch besides the system's programs and a temporary directory of its own: absolute paths.

    Of two paths, one in the other, the inner one decides: a readable skill in a hidden root is read, and a hidden
    directory in a readable one is not. `hidden` matters only in what is readable otherwise.

    `identities` are the devices and numbers of the directories that have to be at those paths of `writable` when the
    command begins, which have no link in them: another command may be putting one there.
    """

    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    network: bool = False
    identities: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def real(self, path: str) -> str:
        """Return where the links of a path lead. Of one in `identities` none is followed."""
        return path if path in self.identities else os.path.realpath(path)


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """The `bwrap` of this machine, and which of its newer options it knows."""

    path: str
    options: frozenset[str]


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The tier that was chosen. `passed_over` says of each stronger one why it was not; empty if none was tried.

    `bubblewrap` is there in that tier only. `landlock` is the version that the kernel has of it, in that tier only, and
    `namespaces` whether this tier has its own of the kernel's namespaces (processes, mounts, network).
    """

    tier: Tier
    bubblewrap: Bubblewrap | None = None
    landlock: int = 0
    namespaces: bool = False
    passed_over: tuple[tuple[Tier, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start: arguments, environment, directory, and the descriptors that it inherits.

    `release` has it end with all that it started; where that is None, it has to be killed. `takes_all_along` says that
    the kernel then kills all that it started.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    cwd: str
    descriptors: tuple[int, ...] = ()
    release: Callable[[], None] | None = None
    takes_all_along: bool = False


OFF = Sandbox(Tier.OFF)
