"""Which files one skill of a tree comes to, and writing them into a directory of our own.

Paths, kinds, links, counts and sizes are judged before a byte is written; links within the skill become copies of what
they lead to. Bytes are counted again while they arrive. A skill is written whole or not at all.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, takewhile

from skillhub_mcp.errors import ArchiveRefused, LibraryUnwritable
from skillhub_mcp.library.bounds import BOUNDS, Bounds, in_mib
from skillhub_mcp.library.entry_rules import EntryNames, entry_problem
from skillhub_mcp.library.tree import Tree, TreeEntry, TreeEntryKind
from skillhub_mcp.locks.content_digest import FileDigest

_LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
# Not what a source says of set-user-ID, of groups and of others.
_MODE, _EXECUTABLE_MODE = 0o644, 0o755
# As many as Linux follows itself.
_MOST_LINKS = 40
_MOST_TARGET_CHARACTERS = 4_096
_FIX = "fix a copy of the skill, or report it to its author: nothing of it was written"
_NEVER_UNPACKED = {
    TreeEntryKind.SUBMODULE: "is another repository (a submodule), which is not fetched",
    TreeEntryKind.OTHER: "is neither a file nor a directory that can be read",
}


@dataclass(frozen=True, slots=True)
class ChosenFile:
    """A file of a skill: its path from the skill's directory, and the path in the tree where its bytes are."""

    path: str
    source_path: str
    executable: bool


def skill_files(entries: Sequence[TreeEntry], skill: str, bounds: Bounds, *, name: str = "") -> tuple[ChosenFile, ...]:
    """Return the files of the skill at `skill` (`""` is the tree's top), in the order of the paths' bytes.

    `entries` are in that order too, as a tree has them, and may be of more than this skill. `name` is what messages
    call the source. Raises ArchiveRefused for the first entry that is never unpacked.
    """
    return _Choice(entries, skill, bounds, name or skill or "the skill").files()


class _Choice:
    def __init__(self, entries: Sequence[TreeEntry], skill: str, bounds: Bounds, name: str) -> None:
        self._prefix = f"{skill}/" if skill else ""
        self._bounds = bounds
        self._name = name
        below = len(self._prefix)
        # They lie side by side: entries are in the order of their paths' bytes.
        first = bisect_left(entries, _bytes(self._prefix), key=lambda entry: _bytes(entry.path))
        rest = islice(entries, first, None)
        self._below = list(takewhile(lambda entry: entry.path.startswith(self._prefix), rest))
        self._entries = {entry.path[below:]: entry for entry in self._below}
        self._directories: dict[str, list[str]] = {"": []}
        self._seen, self._bytes = 0, 0

    def files(self) -> tuple[ChosenFile, ...]:
        names = EntryNames()
        for entry in self._below:
            path = entry.path[len(self._prefix) :]
            self._check_path(path)
            if problem := names.problem(path):
                raise self._refused(path, problem)
            self._note_directories(path)
        found = [file for path in self._entries for file in self._files_at(path, path)]
        if not found:
            raise self._refused("", "it has no file")
        return tuple(sorted(found, key=lambda file: _bytes(file.path)))

    def _note_directories(self, path: str) -> None:
        """Note that each directory in which a path lies has it below."""
        above = path
        while above:
            above = above.rpartition("/")[0]
            self._directories.setdefault(above, []).append(path)

    def _files_at(self, path: str, real: str) -> Iterator[ChosenFile]:
        """Yield the files that the entry at `real` is, when it is looked at as `path`."""
        entry = self._entries[real]
        self._count(path)
        if entry.kind is TreeEntryKind.LINK:
            yield from self._linked(path, real)
            return
        if entry.kind is not TreeEntryKind.FILE:
            raise self._refused(path, _NEVER_UNPACKED[entry.kind])
        self._bytes += entry.size
        if self._bytes > self._bounds.skill_bytes:
            raise self._refused(path, _too_many_bytes(self._bounds))
        yield ChosenFile(path, entry.path, entry.executable)

    def _linked(self, path: str, real: str) -> Iterator[ChosenFile]:
        there = self._resolved(path, real)
        if there in self._entries:
            yield from self._files_at(path, there)
            return
        if f"{real}/".startswith(f"{there}/" if there else ""):
            raise self._refused(path, "is a link to a directory that it is in")
        below = len(there)
        for inner in self._directories[there]:
            copy = path + inner[below:]
            self._check_path(copy)
            yield from self._files_at(copy, inner)

    def _resolved(self, path: str, link: str) -> str:
        """Return where a link leads, with no link in it: to a file or a directory of the skill."""
        parts = link.split("/")[:-1]
        ahead = self._names_of(link, path)
        links = 1
        while ahead:
            step = ahead.popleft()
            if step in ("", "."):
                continue
            if step == "..":
                if not parts:
                    raise self._refused(path, f"is a link that leaves the skill, to {self._shown_target(link)}")
                parts.pop()
                continue
            here = "/".join((*parts, step))
            entry = self._entries.get(here)
            if entry is not None and entry.kind is TreeEntryKind.LINK:
                links += 1
                if links > _MOST_LINKS:
                    raise self._refused(path, "is a link that leads in circles")
                ahead.extendleft(reversed(self._names_of(here, path)))
                continue
            if here not in self._directories and (entry is None or ahead):
                raise self._refused(path, f"is a link to nothing that is there, {self._shown_target(link)}")
            parts.append(step)
        return "/".join(parts)

    def _names_of(self, link: str, path: str) -> deque[str]:
        target = self._entries[link].target
        if target.startswith("/") or "\\" in target or len(target) > _MOST_TARGET_CHARACTERS:
            raise self._refused(path, f"is a link that leaves the skill, to {self._shown_target(link)}")
        return deque(target.split("/"))

    def _shown_target(self, link: str) -> str:
        return repr(self._entries[link].target[:200])

    def _count(self, path: str) -> None:
        self._seen += 1
        if self._seen > self._bounds.skill_files:
            raise self._refused(path, f"is one file too many: a skill has at most {self._bounds.skill_files:,}")

    def _check_path(self, path: str) -> None:
        if path.count("/") >= self._bounds.depth:
            raise self._refused(path, f"lies too deep: a path in a skill has at most {self._bounds.depth} names")
        if problem := entry_problem(path):
            raise self._refused(path, problem)

    def _refused(self, path: str, reason: str) -> ArchiveRefused:
        return ArchiveRefused(self._name, reason, entry=self._prefix + path if path else "", hint=_FIX)


def _bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _too_many_bytes(bounds: Bounds) -> str:
    """Return the end of the sentence about a file that makes its skill too large."""
    return f"makes the skill too large: it has at most {in_mib(bounds.skill_bytes)}"


@dataclass(frozen=True, slots=True)
class UnpackedSkill:
    """What was written: each file by its path with `/` from the skill's directory, and notes for the user."""

    files: Mapping[str, FileDigest]
    notes: tuple[str, ...] = ()


def unpack_skill(tree: Tree, path: str, destination: str, bounds: Bounds = BOUNDS, *, name: str = "") -> UnpackedSkill:
    """Write the skill at `path` of a tree (`""` is its top) into `destination`, an empty directory of our own.

    Files may be read by all and written by their owner, as far as the umask lets; `x` is kept. `name` is what messages
    call the source. Raises ArchiveRefused, SourceUnreachable and LibraryUnwritable; then `destination` is empty again.
    """
    files = skill_files(tree.entries, path, bounds, name=name)
    try:
        if os.listdir(destination):
            raise LibraryUnwritable(destination, "it is not empty")
        try:
            return _written(tree, files, destination, bounds, name or path or "the skill")
        except BaseException:
            shutil.rmtree(destination)
            os.mkdir(destination)
            raise
    except OSError as error:
        hint = "free space there, or name another directory for temporary files in TMPDIR, then try again"
        raise LibraryUnwritable(destination, error.strerror or type(error).__name__, hint=hint) from error


def _written(tree: Tree, files: tuple[ChosenFile, ...], destination: str, bounds: Bounds, name: str) -> UnpackedSkill:
    digests: dict[str, FileDigest] = {}
    notes: list[str] = []
    room = bounds.skill_bytes
    for file in files:
        digest, beginning, size = hashlib.sha256(), b"", 0
        place = destination
        for part in file.path.split("/"):
            with contextlib.suppress(FileExistsError):
                os.mkdir(place, _EXECUTABLE_MODE)
            place = os.path.join(place, part)
        mode = _EXECUTABLE_MODE if file.executable else _MODE
        with open(place, "xb", opener=partial(os.open, mode=mode)) as written:
            for piece in tree.read(file.source_path):
                size += len(piece)
                if size > room:
                    raise ArchiveRefused(name, _too_many_bytes(bounds), entry=file.source_path, hint=_FIX)
                digest.update(piece)
                beginning = beginning or piece[: len(_LFS_POINTER)]
                written.write(piece)
        room -= size
        digests[file.path] = FileDigest(digest.hexdigest(), size, file.executable)
        if beginning == _LFS_POINTER:
            notes.append(f"{file.path!r} is a pointer of Git LFS: what it stands for is kept elsewhere")
    return UnpackedSkill(digests, tuple(notes))
