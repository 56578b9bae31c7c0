"""The files of example skills, and writing those of a new skill."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from skillhub_mcp.errors import InvalidArgument, LibraryUnwritable
from skillhub_mcp.skills.model import SKILL_FILE, Skill
from skillhub_mcp.skills.roots import builtin_directory, make_roots
from skillhub_mcp.skills.scanner import read_snapshot


def examples() -> Sequence[Skill]:
    """Return the skills that come with SkillHub, by name."""
    return read_snapshot(make_roots([builtin_directory()])).skills


def files_of(example: Skill) -> Mapping[str, bytes]:
    """Return the files of an example by relative path, with `/` on every system."""
    base = Path(example.directory)
    paths = (
        Path(place, name)
        for place, directories, names in os.walk(base)
        if "__pycache__" not in Path(place).parts
        for name in names
    )
    return {path.relative_to(base).as_posix(): path.read_bytes() for path in sorted(paths)}


def write_new(directory: str, files: Mapping[str, bytes]) -> None:
    """Create `directory` with `files`, SKILL.md last, or nothing. Raises InvalidArgument and LibraryUnwritable."""
    try:
        os.makedirs(os.path.dirname(directory), exist_ok=True)
        os.mkdir(directory)
    except FileExistsError as error:
        raise InvalidArgument(
            "NAME",
            f"is taken: {error.filename} exists, and nothing is overwritten",
            hint="choose another name, or edit what is there",
        ) from error
    except OSError as error:
        raise _unwritable(error, directory) from error
    try:
        for path in sorted(files, key=lambda path: (path == SKILL_FILE, path)):
            place = os.path.join(directory, *path.split("/"))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "xb") as file:
                file.write(files[path])
    except BaseException as error:
        shutil.rmtree(directory, ignore_errors=True)
        if isinstance(error, OSError):
            raise _unwritable(error, directory) from error
        raise


def _unwritable(error: OSError, directory: str) -> LibraryUnwritable:
    reason = error.strerror or str(error)
    return LibraryUnwritable(error.filename or directory, reason, hint="--skills-dir DIR writes it elsewhere")
