"""Writing the files of a new skill into a directory of its own. Nothing that exists is changed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from skillhub_mcp.errors import InvalidArgument, LibraryUnwritable
from skillhub_mcp.skills.model import SKILL_FILE


def write_new(directory: str, files: Mapping[str, bytes]) -> None:
    """Create `directory`, and its parents, with `files` by relative path.

    SKILL.md comes last: until then a server that watches sees no skill. Raises InvalidArgument where the directory
    exists, and LibraryUnwritable where it cannot be written; then none of it is left.
    """
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
    except OSError as error:
        shutil.rmtree(directory, ignore_errors=True)
        raise _unwritable(error, directory) from error
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def _unwritable(error: OSError, directory: str) -> LibraryUnwritable:
    reason = error.strerror or str(error)
    return LibraryUnwritable(error.filename or directory, reason, hint="--skills-dir DIR writes it elsewhere")
