"""The files of a skill as a directory, for whoever reads them: made from the mirror at the first load or read.

A copy is of one state of a skill, which its name says, and never changes. It is compared with the digests of its files
before a process uses it first.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from skillhub_mcp._util.file_modes import make_private_directory
from skillhub_mcp.errors import SkillFilesUnavailable
from skillhub_mcp.index.failures import IndexDamaged
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.store.records import StoredFile
from skillhub_mcp.store.tables import PublishedRow, file_bytes

log = logging.getLogger(__name__)

_COPIES = "copies"
# As published: a digest of a skill has its bits for executing. Nobody else gets into the mirror.
_MODE, _EXECUTABLE_MODE, _DIRECTORY_MODE = 0o644, 0o755, 0o755


class SkillCopies:
    """The copies of skills below the directory of a mirror. Safe to use from several threads."""

    def __init__(self, directory: str) -> None:
        self._place = os.path.join(directory, _COPIES)
        self._lock = threading.Lock()
        self._compared: set[str] = set()

    def directory(self, skill: Skill, row: PublishedRow, files: Any) -> str:
        """Return the directory with the files of a skill; `files` is the table that has them.

        Raises SkillFilesUnavailable.
        """
        # Named as it was published: some rules compare a skill's name with its directory's.
        path = os.path.join(self._place, row.digest, os.path.basename(skill.directory))
        with self._lock:
            if row.digest in self._compared and os.path.isdir(path):
                return path
            try:
                if not _is_whole(path, row.files):
                    self._make(path, file_bytes(files, {file.sha256 for file in row.files}), row.files)
            except IndexDamaged as error:
                log.warning("The files of %r cannot be read from the mirror: %s", skill.name, error)
                raise SkillFilesUnavailable(skill.name, "the mirror is damaged") from error
            except ValueError as error:
                raise SkillFilesUnavailable(skill.name, str(error)) from error
            except OSError as error:
                raise SkillFilesUnavailable(skill.name, f"the mirror: {error.strerror or error}") from error
            self._compared.add(row.digest)
        return path

    def trim(self, used: Collection[str]) -> None:
        """Remove the copies of states with other digests. Raises OSError."""
        with self._lock:
            for name in os.listdir(self._place) if os.path.isdir(self._place) else ():
                if name not in used:
                    self._compared.discard(name)
                    shutil.rmtree(os.path.join(self._place, name))

    def _make(self, path: str, contents: Mapping[str, bytes], files: Sequence[StoredFile]) -> None:
        make_private_directory(self._place)
        state = os.path.dirname(path)
        with tempfile.TemporaryDirectory(dir=self._place, prefix=".made-") as made:
            top = os.path.join(made, os.path.basename(state), os.path.basename(path))
            os.makedirs(top)
            for file in files:
                content = contents.get(file.sha256)
                if content is None or hashlib.sha256(content).hexdigest() != file.sha256:
                    raise ValueError(f"{file.path} in the mirror is not what was published")
                place = os.path.join(top, *file.path.split("/"))
                os.makedirs(os.path.dirname(place), exist_ok=True)
                with open(place, "xb") as copy:
                    copy.write(content)
                os.chmod(place, _EXECUTABLE_MODE if file.executable else _MODE)
            for directory, _, _ in os.walk(top):
                os.chmod(directory, _DIRECTORY_MODE)
            if os.path.lexists(state):
                shutil.rmtree(state)
            os.rename(os.path.dirname(top), state)


def _is_whole(path: str, files: Sequence[StoredFile]) -> bool:
    """Whether there is each of the files, with the bytes that were published, and nothing else."""
    wanted = {os.path.join(path, *file.path.split("/")): file.sha256 for file in files}
    there = {os.path.join(place, name) for place, _, names in os.walk(path) for name in names}
    return there == wanted.keys() and all(_digest(place) == digest for place, digest in wanted.items())


def _digest(place: str) -> str:
    with open(place, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
