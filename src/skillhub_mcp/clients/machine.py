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

    def join(self, *parts: str) -> str:
        """Return the parts as one path of that system."""
        return ntpath.join(*parts) if self.system is System.WINDOWS else posixpath.join(*parts)

    def in_home(self, *parts: str) -> str:
        """Return a path below the home directory."""
        return self.join(self.home, *parts)

    def in_project(self, *parts: str) -> str:
        """Return a path below the project's root."""
        return self.join(self.project, *parts)

    def in_config(self, *parts: str) -> str:
        """Return a path below `~/.config`, or below XDG_CONFIG_HOME."""
        return self.join(self.environment.get("XDG_CONFIG_HOME") or self.in_home(".config"), *parts)

    def in_settings(self, *parts: str) -> str:
        """Return a path below the directory of desktop programs' settings."""
        if self.system is System.WINDOWS:
            return self.join(self.environment.get("APPDATA") or self.in_home("AppData", "Roaming"), *parts)
        if self.system is System.MACOS:
            return self.in_home("Library", "Application Support", *parts)
        return self.in_config(*parts)

    def in_variable(self, name: str, *parts: str, default: str) -> str:
        """Return a path below the directory that an environment variable names, else below `default`."""
        return self.join(self.environment.get(name) or default, *parts)

    def applications(self, bundle: str, *, windows: str = "") -> tuple[str, ...]:
        """Return where a desktop program may be installed.

        `bundle` is its name on macOS without `.app`, `windows` its directory below a person's Programs.
        """
        if self.system is System.MACOS:
            return (f"/Applications/{bundle}.app", self.in_home("Applications", f"{bundle}.app"))
        if self.system is System.WINDOWS and windows:
            local = self.environment.get("LOCALAPPDATA") or self.in_home("AppData", "Local")
            return (self.join(local, "Programs", windows),)
        return ()
