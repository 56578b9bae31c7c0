"""The command policy: which program a call may run, and the argument list to start it with. It starts nothing."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from itertools import dropwhile
from pathlib import Path

from skillhub_mcp._util.safe_toml import BadToml, read_toml
from skillhub_mcp.errors import CommandNotAllowed, CommandUnavailable, InvalidArgument, PackagesUnavailable

_PYTHON_NAMES = frozenset({"python", "python3"})
# `uv run python` without building an environment for a project around the skill, and without uv's progress in the
# script's stderr; its errors are still printed (docs/decisions/0034).
_UV_RUN = ("run", "--quiet", "--no-project")
# What `uv run` may be given before a script without changing which script that is.
_UV_FLAGS = frozenset({"--script", "-s", "--quiet", "-q", "--no-project", "--offline", "--isolated"})


def build_argv(
    allowed: Sequence[str], command: str, args: Sequence[str], *, cwd: Path, search_path: str
) -> tuple[str, ...]:
    """Return the argument list to start in the skill's directory `cwd`; its first item is an absolute path.

    `allowed` are case-sensitive bare names. Only the absolute entries of the PATH `search_path` are used, so that a
    file in the skill is never run as a program. `python` and `python3` are one command, and run through uv if it is
    installed (docs/decisions/0034). Raises CommandNotAllowed, CommandUnavailable and InvalidArgument.
    """
    is_python = command in _PYTHON_NAMES
    # A path is refused even if it is listed, since a relative one depends on the skill's directory.
    is_name = command and "/" not in command and "\\" not in command
    if not is_name or (_PYTHON_NAMES if is_python else {command}).isdisjoint(allowed):
        raise CommandNotAllowed(command, allowed=tuple(allowed))
    try:
        "".join(args).encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument("args", "has an unpaired surrogate") from error
    path = absolute_path_entries(search_path)
    if is_python and (uv := shutil.which("uv", path=path)):
        script = own_script(command, args, cwd)
        # Plain `uv run python FILE` does not read the file's PEP 723 block; only `--script` does.
        python = "python" if script is None or block_of(script) is None else "--script"
        return (uv, *_UV_RUN, python, *args)
    program = shutil.which("python3" if is_python else command, path=path)
    if program is None:
        raise CommandUnavailable(command)
    return (program, *args)


def own_script(command: str, args: Sequence[str], cwd: Path) -> Path | None:
    """Return the script of the skill in `cwd` that Python is to run, if the command runs one."""
    given = _python_arguments(command, args)
    # Options before the script belong to the interpreter, and what follows them may be anything.
    if not given or given[0].startswith("-"):
        return None
    try:
        script = (cwd / given[0]).resolve()
        # The hub reads the skill's own files only, whatever the arguments are.
        return script if script.is_relative_to(cwd.resolve()) and script.is_file() else None
    except (OSError, RuntimeError):  # RuntimeError: a symlink loop, before Python 3.13
        return None


def _python_arguments(command: str, args: Sequence[str]) -> Sequence[str] | None:
    """Return what Python is given by `python …`, `uv run …` or `uv run python …`; None for any other command."""
    if command in _PYTHON_NAMES:
        return args
    if command != "uv" or not args or args[0] != "run":
        return None
    rest = list(dropwhile(_UV_FLAGS.__contains__, args[1:]))
    if rest and rest[0] in _PYTHON_NAMES:
        return rest[1:]
    return rest if rest and rest[0].endswith(".py") else None


def absolute_path_entries(search_path: str) -> str:
    """Return the PATH without empty and relative entries, which would denote the skill's directory.

    If no entry is left it is the system's default path, since an empty PATH denotes the current directory too.
    """
    kept = [entry for entry in search_path.split(os.pathsep) if Path(entry).is_absolute()]
    return os.pathsep.join(kept) or os.defpath


# PEP 723 does not say where the block stands; in practice it is near the top.
_HEAD_BYTES = 256 * 1024
_BLOCK_CHARACTERS = 8 * 1024
_OPENING = re.compile(r"^# /// script\n", re.MULTILINE)
# A name and versions, without the characters that an address or a path has.
_REQUIREMENT = re.compile(r"[A-Za-z0-9][^@/\\\x00-\x1f\x7f]*")
_BLOCK = re.compile(r"((?:#(?: .*)?\n)*)# ///$", re.MULTILINE)


def declared_packages(script: Path) -> tuple[str, ...]:
    """Return the requirements of a script's PEP 723 block. Raises PackagesUnavailable if the block cannot be used."""
    block = block_of(script)
    if block is None:
        return ()
    try:
        content = read_toml(block, most_characters=_BLOCK_CHARACTERS)
    except BadToml as error:
        raise PackagesUnavailable(script.name, f"its PEP 723 block cannot be read: {error}") from error
    packages, tool = content.get("dependencies", []), content.get("tool", {})
    if not isinstance(packages, list) or not isinstance(tool, dict):
        raise PackagesUnavailable(script.name, "its PEP 723 block is malformed")
    uv = tool.get("uv", {})
    odd = sorted(set(uv) - {"exclude-newer"}) if isinstance(uv, dict) else ["uv"]
    if odd:
        reason = f"its block sets tool.uv.{odd[0]}, but the skill does not decide where packages come from"
        hint = "remove it from the block and set UV_INDEX_URL for the server, or run the script in your terminal"
        raise PackagesUnavailable(script.name, reason, hint=hint)
    for package in packages:
        if not (isinstance(package, str) and _REQUIREMENT.fullmatch(package)):
            reason = f"{package!r} is not a name and versions of a package in an index"
            hint = "addresses and paths are not fetched: name the package, or run the script in your terminal"
            raise PackagesUnavailable(script.name, reason, hint=hint)
    return tuple(packages)


def block_of(script: Path) -> str | None:
    """Return the TOML of a script's block, as PEP 723 finds it: comment lines up to the last one that is `# ///`."""
    try:
        with script.open("rb") as file:
            text = file.read(_HEAD_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError:
        return None
    opening = _OPENING.search(text)
    block = opening and _BLOCK.match(text, opening.end())
    return re.sub("^# ?", "", block[1], flags=re.MULTILINE) if block else None
