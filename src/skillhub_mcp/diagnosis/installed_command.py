"""The distribution that owns the `skillhub-mcp` command on PATH: this one, another copy, or a different program.

On the Python package index that name belongs to another program, so only the summary of a distribution tells.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import Distribution, distributions, metadata
from itertools import pairwise
from pathlib import Path

COMMAND = "skillhub-mcp"
# Where an environment keeps its packages, below the directory that also holds its scripts.
_SITE_PACKAGES = ("lib*/python3*/*-packages", "Lib/site-packages")


class CommandOwner(Enum):
    """Whose command is on PATH: this installation's, another installation's of this program, or another program's."""

    THIS = "this installation"
    SAME_PROGRAM = "another installation of this program"
    OTHER_PROGRAM = "another program"
    UNKNOWN = "no installed distribution"


@dataclass(frozen=True, slots=True)
class InstalledCommand:
    """The command's `path` as PATH gives it, and the distribution that installed it, empty where none is known."""

    path: str
    owner: CommandOwner
    distribution: str = ""
    version: str = ""
    summary: str = ""


def command_on_path(*, path: str | None = None) -> InstalledCommand | None:
    """Return what the command is on `path`, by default that of the environment, or None where PATH has none."""
    found = shutil.which(COMMAND, path=path)
    if found is None:
        return None
    owning, own = _owning_distribution(Path(found)), own_command()
    if owning is None:
        return InstalledCommand(found, CommandOwner.UNKNOWN)
    summary = owning.metadata["Summary"] or ""
    owner = CommandOwner.SAME_PROGRAM if summary == metadata(COMMAND)["Summary"] else CommandOwner.OTHER_PROGRAM
    if own is not None and os.path.realpath(own) == os.path.realpath(found):
        owner = CommandOwner.THIS
    return InstalledCommand(found, owner, owning.metadata["Name"], owning.version, summary)


def own_command() -> str | None:
    """Return the path of this installation's own command, or None where it has none."""
    return shutil.which(COMMAND, path=sysconfig.get_path("scripts"))


def lasting_command() -> tuple[str, ...]:
    """Return the absolute command that starts this installation.

    Without a command the interpreter gets the file: `-m` would search the working directory first.
    """
    own = own_command()
    if own is None:
        return (sys.executable, str(Path(__file__).parents[1] / "__main__.py"))
    return (os.path.abspath(own),)


def is_passing(command: str) -> bool:
    """Whether a command lies where a tool may remove it at any time: in an environment of `uvx` or `pipx run`."""
    parts = Path(command).parts
    return any(
        before in ("uv", "pipx") and kind.startswith(("archive-v", "environments-v", ".cache", "builds-v"))
        for before, kind in pairwise(parts)
    )


def _owning_distribution(script: Path) -> Distribution | None:
    """Return the distribution beside the script, or beside what it links to, that installs this command."""
    directory = script.resolve().parent
    places = [str(place) for pattern in _SITE_PACKAGES for place in sorted(directory.parent.glob(pattern))]
    if directory == Path(sysconfig.get_path("scripts")).resolve():
        places = [sysconfig.get_path("purelib")]
    for one in distributions(path=places):
        if any(entry.name == COMMAND for entry in one.entry_points.select(group="console_scripts")):
            return one
    return None
