"""A publication on this machine, from which a replica answers whether its storage is available or not.

LanceDB's objects never change, so only new ones are fetched, and put in place whole: processes may share a mirror. The
files of a skill become a directory when they are first needed, named by the digest of the skill's row.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from skillhub_mcp._util.atomic_write import atomic_write, replacing
from skillhub_mcp._util.file_modes import make_private_directory
from skillhub_mcp.errors import PublicationDamaged, SkillFilesUnavailable
from skillhub_mcp.index.lance import IndexDamaged
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.store.tables import Publication, PublishedRow, StoredFile, StoredObject, file_bytes
from skillhub_mcp.store.targets import Target, digest_of

log = logging.getLogger(__name__)

_KEPT = "publication.json"
_COPIES = "copies"
_CHUNK_BYTES = 1024 * 1024
# As published: a digest of a skill has its bits for executing. No one else may enter the mirror.
_MODE, _EXECUTABLE_MODE, _DIRECTORY_MODE = 0o644, 0o755, 0o755


class Mirror:
    """The mirror in a directory. Methods raise OSError for what this machine's disk refuses."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._kept = os.path.join(directory, _KEPT)
        self._copies = os.path.join(directory, _COPIES)
        self._lock = threading.Lock()
        self._compared: set[str] = set()

    def publication(self) -> Publication | None:
        """Return the publication that was mirrored whole; None if there is none, or one of its objects is damaged."""
        try:
            with open(self._kept, "rb") as file:
                found = Publication.from_row(json.load(file))
            whole = all(self._is_whole(path, one) for path, one in found.objects.items())
        except (OSError, ValueError, LookupError, TypeError):
            return None
        return found if whole and not found.is_newer else None

    def fetch(self, target: Target, publication: Publication, progress: Callable[[int, int], None]) -> None:
        """Fetch the objects of a publication that are missing or damaged here.

        Raises StorageUnavailable and PublicationDamaged.
        """
        for done, (path, one) in enumerate(publication.objects.items(), 1):
            if not self._is_whole(path, one):
                self._fetch(target, path, one)
                progress(done, len(publication.objects))

    def keep(self, publication: Publication) -> None:
        """Record that the mirror has a publication whole."""
        atomic_write(self._kept, json.dumps(publication.as_row()).encode())

    def trim(self, objects: Collection[str], digests: Collection[str]) -> None:
        """Remove objects that are not among `objects`, and copies of skills with other digests."""
        for place, _, names in os.walk(self.directory):
            for name in names:
                path = os.path.relpath(os.path.join(place, name), self.directory).replace(os.sep, "/")
                if ".lance/" in path and not path.startswith(f"{_COPIES}/") and path not in objects:
                    os.unlink(os.path.join(place, name))
        with self._lock:
            for name in set(os.listdir(self._copies) if os.path.isdir(self._copies) else ()).difference(digests):
                self._compared.discard(name)
                shutil.rmtree(os.path.join(self._copies, name))

    def files_of(self, skill: Skill, row: PublishedRow, table: Any) -> str:
        """Return the directory with the files of a skill, of which `table` has the bytes.

        Raises SkillFilesUnavailable.
        """
        # Named as it was published: some rules compare a skill's name with its directory's.
        path = os.path.join(self._copies, row.digest, os.path.basename(skill.directory))
        with self._lock:
            if row.digest in self._compared and os.path.isdir(path):
                return path
            try:
                if not _is_copy(path, row.files):
                    self._copy(path, file_bytes(table, {file.sha256 for file in row.files}), row.files)
            except IndexDamaged as error:
                log.warning("The files of %r cannot be read from the mirror: %s", skill.name, error)
                raise SkillFilesUnavailable(skill.name, "the mirror is damaged") from error
            except OSError as error:
                raise SkillFilesUnavailable(skill.name, f"the mirror: {error.strerror or error}") from error
            self._compared.add(row.digest)
        return path

    def _copy(self, path: str, contents: Mapping[str, bytes], files: Sequence[StoredFile]) -> None:
        make_private_directory(self._copies)
        state = os.path.dirname(path)
        with tempfile.TemporaryDirectory(dir=self._copies, prefix=".made-") as made:
            top = os.path.join(made, os.path.basename(state), os.path.basename(path))
            os.makedirs(top)
            for file in files:
                content = contents.get(file.sha256, b"")
                if digest_of([content]) != file.sha256:
                    raise IndexDamaged(f"{file.path} is not what was published")
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

    def _is_whole(self, path: str, one: StoredObject) -> bool:
        place = self._path(path)
        try:
            return os.stat(place).st_size == one.size and _digest(place) == one.sha256
        except FileNotFoundError:
            return False

    def _fetch(self, target: Target, path: str, one: StoredObject) -> None:
        place = self._path(path)
        make_private_directory(os.path.dirname(place))
        try:
            with replacing(place) as file:
                for chunk in target.chunks(path):
                    file.write(chunk)
                file.seek(0)
                if digest_of(iter(lambda: file.read(_CHUNK_BYTES), b"")) != one.sha256:
                    raise PublicationDamaged(target.name, path, "is not what was published")
        except FileNotFoundError as error:
            raise PublicationDamaged(target.name, path, "is missing") from error

    def _path(self, path: str) -> str:
        return os.path.join(self.directory, *path.split("/"))


def _is_copy(path: str, files: Sequence[StoredFile]) -> bool:
    """Whether a directory has each of the files, as published, and nothing else."""
    wanted = {os.path.join(path, *file.path.split("/")): file.sha256 for file in files}
    there = {os.path.join(place, name) for place, _, names in os.walk(path) for name in names}
    return there == wanted.keys() and all(_digest(place) == digest for place, digest in wanted.items())


def _digest(place: str) -> str:
    with open(place, "rb") as file:
        return digest_of(iter(lambda: file.read(_CHUNK_BYTES), b""))
