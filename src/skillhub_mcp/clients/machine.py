"""The machine that a client runs on, on which the places of its files depend."""

from __future__ import annotations

import ntpath
import posixpath
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class System(str, Enum):
    """An operating system."""

    LINUX = "linux"
    MACOS = "macos"
    WINDOWS = "windows"


def this_system() -> System:
    """Return the system of this process; every other POSIX system counts as Linux."""
    return {"win32": System.WINDOWS, "darwin": System.MACOS}.get(sys.platform, System.LINUX)


@dataclass(frozen=True, slots=True)
class Machine:
    """A system, its environment variables, the home directory and the root of the project."""

    system: System
    environment: Mapping[str, str]
    home: str
    project: str

    def join(self, directory: str, path: str) -> str:
        """Return a path, written with `/`, below a directory, as a path of that system."""
        join = ntpath.join if self.system is System.WINDOWS else posixpath.join
        return join(directory, *path.split("/")) if path else directory

    def expand(self, path: str) -> str:
        """Return a path that begins with `~`, `{config}` (XDG) or `{settings}` (desktop programs)."""
        first, _, rest = path.partition("/")
        config = self.environment.get("XDG_CONFIG_HOME") or self.join(self.home, ".config")
        settings = config
        if self.system is System.WINDOWS:
            settings = self.environment.get("APPDATA") or self.join(self.home, "AppData/Roaming")
        elif self.system is System.MACOS:
            settings = self.join(self.home, "Library/Application Support")
        return self.join({"~": self.home, "{config}": config, "{settings}": settings}[first], rest)
