"""The distribution that owns the `skillhub-mcp` command on PATH: this one, another copy, or a different program.

On the Python package index the name `skillhub-mcp` belongs to another program with the same command and the same
import package, so neither name identifies the program. The metadata of the installed distribution does.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from itertools import pairwise
from pathlib import Path

import skillhub_mcp

COMMAND = "skillhub-mcp"

_NAME = "skillhub-mcp"
# Where an environment keeps its packages, below the directory that also holds its scripts.
_SITE_PACKAGES = (
    "lib/python3*/site-packages",
    "lib64/python3*/site-packages",
    "lib/python3*/dist-packages",
    "Lib/site-packages",
)


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
    distribution: str
    version: str
    summary: str
    owner: CommandOwner


def command_on_path(*, path: str | None = None) -> InstalledCommand | None:
    """Return what the command is on `path`, by default that of the environment, or None where PATH has none."""
    found = shutil.which(COMMAND, path=path)
    if found is None:
        return None
    owner = _owning_distribution(Path(found))
    if owner is None:
        return InstalledCommand(found, "", "", "", CommandOwner.UNKNOWN)
    summary = owner.metadata["Summary"] or ""
    return InstalledCommand(found, owner.metadata["Name"] or "", owner.version, summary, _compare(owner))


def own_command() -> str | None:
    """Return the path of this installation's own command, or None where it has none."""
    return shutil.which(COMMAND, path=sysconfig.get_path("scripts"))


def lasting_command() -> tuple[str, ...]:
    """Return the absolute command that starts this installation.

    A tool installer's link is preferred because it survives upgrades. Without a command the interpreter gets the
    file: `-m` would search the working directory first.
    """
    own = own_command()
    if own is None:
        return (sys.executable, str(Path(skillhub_mcp.__file__).with_name("__main__.py")))
    typed = shutil.which(sys.argv[0]) if sys.argv and sys.argv[0] else None
    if typed is not None:
        beside = shutil.which(COMMAND, path=os.path.dirname(os.path.abspath(typed)))
        if beside is not None and os.path.realpath(beside) == os.path.realpath(own):
            return (os.path.abspath(beside),)
    return (os.path.abspath(own),)


def is_passing(command: str) -> bool:
    """Whether a command lies where a tool may remove it at any time: in an environment of `uvx` or `pipx run`."""
    parts = Path(command).parts
    return any(
        before in ("uv", "pipx") and kind.startswith(("archive-v", "environments-v", ".cache", "builds-v"))
        for before, kind in pairwise(parts)
    )


def _compare(owner: Distribution) -> CommandOwner:
    try:
        own = distribution(_NAME)
    except PackageNotFoundError:
        # Run from source: every installed distribution is another one.
        return CommandOwner.OTHER_PROGRAM
    if _place(owner) == _place(own) and _normalized(owner) == _normalized(own):
        return CommandOwner.THIS
    same = _normalized(owner) == _normalized(own) and owner.metadata["Summary"] == own.metadata["Summary"]
    return CommandOwner.SAME_PROGRAM if same else CommandOwner.OTHER_PROGRAM


def _owning_distribution(script: Path) -> Distribution | None:
    """Return the distribution whose list of files has the script; where several do, the one that wrote it last."""
    # A tool installer links the script from its own environment: that one holds the distribution.
    real = script.resolve()
    claims = []
    for candidate in _distributions_beside(real):
        if any(entry.name == COMMAND for entry in candidate.entry_points if entry.group == "console_scripts"):
            listed = (file for file in candidate.files or () if file.stem == COMMAND and file.suffix in ("", ".exe"))
            if any(Path(str(file.locate())).resolve() == real for file in listed):
                claims.append(candidate)
    return max(claims, key=_installed_at, default=None)


def _distributions_beside(script: Path) -> Iterator[Distribution]:
    places = [str(place) for pattern in _SITE_PACKAGES for place in sorted(script.parent.parent.glob(pattern))]
    if script.parent == Path(sysconfig.get_path("scripts")).resolve():
        places.insert(0, sysconfig.get_path("purelib"))
    seen: set[Path] = set()
    for place in places:
        real = Path(place).resolve()
        if real not in seen:
            seen.add(real)
            yield from distributions(path=[place])


def _place(owner: Distribution) -> Path:
    return Path(str(owner.locate_file(""))).resolve()


def _normalized(owner: Distribution) -> str:
    return (owner.metadata["Name"] or "").lower().replace("_", "-").replace(".", "-")


def _installed_at(owner: Distribution) -> float:
    record = next((file for file in owner.files or () if file.name == "RECORD"), None)
    return 0.0 if record is None else os.path.getmtime(str(record.locate()))
