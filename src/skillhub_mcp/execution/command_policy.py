"""Decides which program a call may run and what its argument list is (seed 002 §3.5, §6.2).

It starts nothing. It reads two things only: which programs are installed, and whether the script that
Python is asked to run declares its own dependencies (PEP 723). What a program may then touch is the
sandbox's question.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from skillhub_mcp.errors import CommandNotAllowed, CommandUnavailable, InvalidArgument

MAX_ARGUMENTS = 256
MAX_ARGUMENT_BYTES = 128 * 1024

_PYTHON_NAMES = frozenset({"python", "python3"})
# `uv run python` as the seed asks, but without building an environment for a project around the skill, and
# without its progress in the script's stderr; its errors are still printed (docs/decisions/0005).
_UV_RUN = ("run", "--quiet", "--no-project")

_SCRIPT_BLOCK_OPENING = b"# /// script"
# PEP 723 sets no place for the block; every script in use has it near the top.
_SCRIPT_BLOCK_WITHIN_BYTES = 256 * 1024


class Which(Protocol):
    """Finds a program by its bare name on a search path: `shutil.which`, or another with its promise."""

    def __call__(self, cmd: str, *, path: str) -> str | None: ...


@dataclass(frozen=True, slots=True)
class CommandPolicy:
    """The commands that may be run, as bare names; letters' case counts."""

    allowed: tuple[str, ...]

    def resolve(
        self,
        command: str,
        args: Sequence[str],
        *,
        cwd: Path,
        search_path: str,
        which: Which = shutil.which,
    ) -> tuple[str, ...]:
        """Return the argument list to start, its first item an absolute path.

        `cwd` is the skill's directory, `search_path` a PATH of which only the absolute entries count, so
        that a file in the skill never stands in for a program. `python` and `python3` are one command:
        either name is allowed when the other is listed, and both run through uv where uv is installed,
        whether or not `uv` itself is listed (seed 002 §3.5, step 3; docs/decisions/0005).

        Raises `CommandNotAllowed`, `InvalidArgument` for arguments that no program can be given or that are
        over `MAX_ARGUMENTS` or `MAX_ARGUMENT_BYTES`, `CommandUnavailable` for a program that is not
        installed.
        """
        if not self._allows(command):
            raise CommandNotAllowed(command, allowed=self.allowed)
        _check_arguments(args)
        path = absolute_path_entries(search_path)
        if command in _PYTHON_NAMES:
            uv = which("uv", path=path)
            if uv is not None:
                # Plain `uv run python FILE` does not read the file's PEP 723 block; only `--script` does.
                python = "--script" if _declares_dependencies(args, cwd) else "python"
                return (uv, *_UV_RUN, python, *args)
        program = which("python3" if command in _PYTHON_NAMES else command, path=path)
        if program is None:
            raise CommandUnavailable(command)
        return (program, *args)

    def _allows(self, command: str) -> bool:
        # A path is refused even if someone listed it: what it names depends on the skill's directory.
        if not command or "/" in command or "\\" in command:
            return False
        if command in _PYTHON_NAMES:
            return not _PYTHON_NAMES.isdisjoint(self.allowed)
        return command in self.allowed


def absolute_path_entries(search_path: str) -> str:
    """Return the PATH without its empty and relative entries, which would mean the directory of the skill.

    With nothing left it is the system's default path: an empty PATH means the current directory as well.
    """
    kept = [entry for entry in search_path.split(os.pathsep) if Path(entry).is_absolute()]
    return os.pathsep.join(kept) or os.defpath


def _check_arguments(args: Sequence[str]) -> None:
    if len(args) > MAX_ARGUMENTS:
        raise InvalidArgument("args", f"has {len(args)} items, more than {MAX_ARGUMENTS}")
    size = 0
    for position, argument in enumerate(args):
        if "\0" in argument:
            raise InvalidArgument("args", f"has a NUL character in item {position}")
        try:
            size += len(argument.encode()) + 1  # the system ends each with a NUL
        except UnicodeEncodeError as error:
            raise InvalidArgument("args", f"has half of a character in item {position}") from error
    if size > MAX_ARGUMENT_BYTES:
        raise InvalidArgument(
            "args",
            f"has {size} bytes, more than {MAX_ARGUMENT_BYTES}",
            hint="write long input to a file that the script reads",
        )


def _declares_dependencies(args: Sequence[str], cwd: Path) -> bool:
    # Options before the script are for the interpreter; `uv run --script` cannot pass them on.
    if not args or args[0].startswith("-"):
        return False
    try:
        script = (cwd / args[0]).resolve()
        # The hub looks into the skill's own files only, whatever the arguments name.
        if not script.is_relative_to(cwd.resolve()) or not script.is_file():
            return False
        with script.open("rb") as file:
            head = file.read(_SCRIPT_BLOCK_WITHIN_BYTES)
    except (OSError, RuntimeError):  # RuntimeError: a ring of links, before Python 3.13
        return False
    return any(line.rstrip() == _SCRIPT_BLOCK_OPENING for line in head.splitlines())
