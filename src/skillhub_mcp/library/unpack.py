"""Writing one skill of a tree below a directory, entry by entry: bounded while bytes arrive, whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from skillhub_mcp.errors import ArchiveRefused, LibraryUnwritable
from skillhub_mcp.library.bounds import BOUNDS, Bounds
from skillhub_mcp.library.skill_files import MEND, ChosenFile, skill_files, too_many_bytes
from skillhub_mcp.library.tree import Tree
from skillhub_mcp.locks.content_digest import FileDigest
from skillhub_mcp.skills.files.confinement import HAS_DESCRIPTORS, NO_LINK, TO_DIRECTORY

_LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
# Nothing else: what a source says of set-user-ID, of groups and of others is the source's, not this machine's.
_MODE, _EXECUTABLE_MODE = 0o644, 0o755
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class UnpackedSkill:
    """What was written: each file by its path with `/` from the skill's directory, and what a person is told of it."""

    files: Mapping[str, FileDigest]
    notes: tuple[str, ...] = ()


def unpack_skill(tree: Tree, path: str, destination: str, bounds: Bounds = BOUNDS, *, name: str = "") -> UnpackedSkill:
    """Write the skill at `path` of a tree (`""` is its top) into `destination`, a directory that is there and empty.

    Links within the skill are written as copies. Files may be read by all and written by their owner, as far as the
    umask lets; `x` is kept. Nothing is synced to disk. `name` is what messages call the source. Raises ArchiveRefused,
    SourceUnreachable and LibraryUnwritable; then `destination` is empty again.
    """
    files = skill_files(tree.entries, path, bounds, name=name)
    try:
        if os.listdir(destination):
            raise LibraryUnwritable(destination, "it is not empty")
        try:
            return _written(tree, files, destination, bounds, name or path or "the skill")
        except BaseException:
            _empty(destination)
            raise
    except OSError as error:
        mend = "free space there, or name another directory for temporary files in TMPDIR, then try again"
        raise LibraryUnwritable(destination, error.strerror or type(error).__name__, hint=mend) from error


def _written(tree: Tree, files: tuple[ChosenFile, ...], destination: str, bounds: Bounds, name: str) -> UnpackedSkill:
    digests: dict[str, FileDigest] = {}
    notes: list[str] = []
    room = bounds.skill_bytes
    for file in files:
        digest, beginning = hashlib.sha256(), b""
        size = 0
        with _new_file(destination, file) as descriptor:
            for piece in tree.read(file.source_path):
                size += len(piece)
                if size > room:
                    raise ArchiveRefused(name, too_many_bytes(bounds), entry=file.source_path, hint=MEND)
                digest.update(piece)
                beginning = beginning or piece[: len(_LFS_POINTER)]
                _write(descriptor, piece)
        room -= size
        digests[file.path] = FileDigest(digest.hexdigest(), size, file.executable)
        if beginning == _LFS_POINTER:
            notes.append(f"{file.path!r} is a pointer of Git LFS: what it stands for is kept elsewhere")
    return UnpackedSkill(digests, tuple(notes))


def _write(descriptor: int, piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


@contextlib.contextmanager
def _new_file(destination: str, file: ChosenFile) -> Iterator[int]:
    """Yield a descriptor of a file that was not there, in directories that are no links."""
    mode = _EXECUTABLE_MODE if file.executable else _MODE
    opened = _open_by_descriptors if HAS_DESCRIPTORS else _open_by_path
    descriptor = opened(destination, file.path, mode)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open_by_descriptors(destination: str, path: str, mode: int) -> int:
    *directories, last = path.split("/")
    here = os.open(destination, TO_DIRECTORY | NO_LINK)
    try:
        for directory in directories:
            with contextlib.suppress(FileExistsError):
                os.mkdir(directory, _EXECUTABLE_MODE, dir_fd=here)
            there = os.open(directory, TO_DIRECTORY | NO_LINK, dir_fd=here)
            os.close(here)
            here = there
        return os.open(last, _NEW_FILE, mode, dir_fd=here)
    finally:
        os.close(here)


def _open_by_path(destination: str, path: str, mode: int) -> int:
    """Open without descriptors of directories (Windows): `destination` is the caller's own and nobody else's."""
    place = os.path.join(destination, *path.split("/"))
    os.makedirs(os.path.dirname(place), exist_ok=True)
    return os.open(place, _NEW_FILE, mode)


def _empty(destination: str) -> None:
    for name in os.listdir(destination):
        there = os.path.join(destination, name)
        if os.path.isdir(there) and not os.path.islink(there):
            shutil.rmtree(there)
        else:
            os.unlink(there)
