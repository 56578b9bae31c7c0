"""The files of one skill of a tree, and writing them into a directory of our own, whole or not at all.

Paths, kinds, links, counts and sizes are checked before a byte is written, and bytes are counted while they arrive.
Links within the source become copies of their targets.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import dropwhile

from skillhub_mcp.errors import ArchiveRefused, LibraryUnwritable
from skillhub_mcp.library.tree import BOUNDS, Bounds, Tree, TreeEntry, TreeEntryKind, in_mib, path_key
from skillhub_mcp.locks.file_digests import FileDigest
from skillhub_mcp.skills.files.paths import path_problem

# Windows opens a device under such a name, whatever follows a dot, and in any directory. It reads ¹, ² and ³ as digits.
_DEVICE = re.compile(r"(?i)(?:con|prn|aux|nul|(?:com|lpt)[0-9¹²³]|conin\$|conout\$)[ ]*(?:\..*)?")
# Git's own directory, as some file systems spell it too: what git finds there, it obeys and runs.
_GIT_NAMES = frozenset({".git", "git~1"})


def entry_problem(path: str) -> str | None:
    """Return why an entry of that path is never unpacked, as the end of a sentence about it; None if it may be."""
    if not path:
        return "has no name"
    if "\\" in path:
        return "has a backslash, which separates names on Windows"
    names = path.split("/")
    if any(name == "." for name in names):
        return "has the name '.'"
    return path_problem(path, serve_dotfiles=True) or next(filter(None, map(_name_problem, names)), None)


def _name_problem(name: str) -> str | None:
    if not name:
        return "has an empty name at its end"
    if ":" in name:
        return "has a ':', which names a drive or a stream on Windows"
    if name[-1] in ". ":
        return "has a name that ends in a dot or a blank, which Windows leaves out"
    if _DEVICE.fullmatch(name):
        return f"has the name {name!r}, which is a device on Windows"
    if _folded_name(name) in _GIT_NAMES:
        return "is in git's own directory, which git obeys"
    return None


def folded(path: str) -> str:
    """Return the text that two paths share if any file system takes them for one: by letter case, form or width."""
    return "/".join(map(_folded_name, path.split("/")))


def _folded_name(name: str) -> str:
    if name.isascii():
        return name.lower()
    # HFS+ ignores what cannot be seen.
    seen = "".join(one for one in name if unicodedata.category(one) != "Cf" and not "\ufe00" <= one <= "\ufe0f")
    # Folding may undo what normalising did, and the other way round.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen.casefold()).casefold())


class EntryNames:
    """The names of the entries so far."""

    def __init__(self) -> None:
        self._spelled: dict[str, str] = {}
        self._files: set[str] = set()
        self._directories: set[str] = set()

    def problem(self, path: str, *, is_directory: bool = False) -> str | None:
        """Note an entry, and return why it cannot lie beside those before it; None if it can."""
        names, keys = path.split("/"), folded(path).split("/")
        for end in range(1, len(names) + 1):
            here, key = "/".join(names[:end]), "/".join(keys[:end])
            spelled = self._spelled.setdefault(key, here)
            if spelled != here:
                return f"and {spelled!r} are one name where letter case or form do not count"
            if end < len(names) or is_directory:
                if key in self._files:
                    return f"needs a directory {here!r}, which is a file"
                self._directories.add(key)
            elif key in self._files:
                return "is there twice"
            elif key in self._directories:
                return "is a file and a directory"
            else:
                self._files.add(key)
        return None


_LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
# Not what a source says of set-user-ID, of groups and of others.
_MODE, _EXECUTABLE_MODE = 0o644, 0o755
# As many as Linux follows itself.
_MOST_LINKS = 40
_FIX = "fix a copy of the skill, or report it to its author: nothing of it was written"
_SHOWN_CHARACTERS = 200
_NOT_OF_A_SKILL = frozenset({".git", "node_modules", "__pycache__", ".DS_Store"})
_SECRETS = ".env"


@dataclass(frozen=True, slots=True)
class ChosenFile:
    """A file of a skill: its path from the skill's directory, and the path in the tree where its bytes are."""

    path: str
    source_path: str
    executable: bool


def left_out_part(path: str) -> str:
    """Return a path up to a name that does not belong to a skill; empty if it has none."""
    names = path.split("/")
    for end, name in enumerate(names, 1):
        if name in _NOT_OF_A_SKILL or name.startswith(_SECRETS):
            return "/".join(names[:end])
    return ""


class SkillFiles:
    """The `files` of the skill at `skill` of a tree (`""` is its top), in the order of their paths' bytes.

    `left_out` says why other paths are not among them: they do not belong to a skill, or are submodules, or links that
    lead out of the source or to nothing. Messages call the source `name`. Raises ArchiveRefused for the first entry
    that is never unpacked.
    """

    def __init__(self, entries: Sequence[TreeEntry], skill: str, bounds: Bounds = BOUNDS, *, name: str = "") -> None:
        self.name = name or skill or "the skill"
        self.left_out: dict[str, str] = {}
        self._entries = entries
        self._prefix = f"{skill}/" if skill else ""
        self._bounds = bounds
        self._seen, self._bytes = 0, 0
        self.files = tuple(sorted(self._chosen(), key=lambda file: path_key(file.path)))
        if not self.files:
            raise self._refused("", f"it has no file at {skill or '.'!r}")

    def _chosen(self) -> Iterator[ChosenFile]:
        names = EntryNames()
        for entry in self._below(self._prefix):
            path = entry.path[len(self._prefix) :]
            if part := left_out_part(path):
                self.left_out[part] = "does not belong to a skill"
                continue
            self._check_path(path)
            for file in self._files_at(path, entry):
                if problem := names.problem(file.path):
                    raise self._refused(file.path, problem)
                yield file

    def _below(self, prefix: str) -> Iterator[TreeEntry]:
        """Yield the entries whose paths begin with `prefix`; they lie side by side."""
        at = bisect_left(self._entries, path_key(prefix), key=lambda entry: path_key(entry.path))
        while at < len(self._entries) and self._entries[at].path.startswith(prefix):
            yield self._entries[at]
            at += 1

    def _at(self, path: str) -> TreeEntry | None:
        entry = next(self._below(path), None)
        return entry if entry is not None and entry.path == path else None

    def _files_at(self, path: str, entry: TreeEntry) -> Iterator[ChosenFile]:
        """Yield the files that an entry of the tree is, when it is looked at as `path` of the skill."""
        self._seen += 1
        if self._seen > self._bounds.skill_files:
            raise self._refused(path, f"is one file too many: a skill has at most {self._bounds.skill_files:,}")
        if entry.kind is TreeEntryKind.LINK:
            yield from self._linked(path, entry)
        elif entry.kind is TreeEntryKind.SUBMODULE:
            self.left_out[path] = "is another repository (a submodule), which is not fetched"
        elif entry.kind is not TreeEntryKind.FILE:
            raise self._refused(path, "is neither a file nor a directory that can be read")
        else:
            self._bytes += entry.size
            if self._bytes > self._bounds.skill_bytes:
                raise self._refused(path, _too_many_bytes(self._bounds))
            yield ChosenFile(path, entry.path, entry.executable)

    def _linked(self, path: str, link: TreeEntry) -> Iterator[ChosenFile]:
        try:
            there = self._resolved(link)
        except _NotFollowed as error:
            self.left_out[path] = f"is a link that {error}: {link.target[:_SHOWN_CHARACTERS]!r}"
            return
        if left_out_part(there.removeprefix(self._prefix)):
            self.left_out[path] = "is a link to what does not belong to a skill"
        elif (entry := self._at(there)) is not None:
            yield from self._files_at(path, entry)
        elif f"{link.path}/".startswith(f"{there}/" if there else ""):
            self.left_out[path] = "is a link to a directory that it is in"
        else:
            for inner in self._below(f"{there}/"):
                below = inner.path[len(there) + 1 :]
                if not left_out_part(below):
                    self._check_path(f"{path}/{below}")
                    yield from self._files_at(f"{path}/{below}", inner)

    def _resolved(self, link: TreeEntry) -> str:
        """Return the path in the tree that a link leads to, also through other links. Raises _NotFollowed."""
        for _ in range(_MOST_LINKS):
            above = link.path.split("/")[:-1]
            steps = [step for step in link.target.split("/") if step not in ("", ".")]
            names = list(dropwhile("..".__eq__, steps))
            up = len(steps) - len(names)
            if link.target.startswith("/") or "\\" in link.target or up > len(above):
                raise _NotFollowed("leads out of the source")
            path = "/".join((*above[: len(above) - up], *names))
            entry = self._at(path)
            # What a `..` behind a name means depends on links.
            if ".." in names or (entry is None and next(self._below(f"{path}/" if path else ""), None) is None):
                raise _NotFollowed("leads to nothing")
            if entry is None or entry.kind is not TreeEntryKind.LINK:
                return path
            link = entry
        raise _NotFollowed("leads in circles")

    def _check_path(self, path: str) -> None:
        if path.count("/") >= self._bounds.depth:
            raise self._refused(path, f"lies too deep: a path in a skill has at most {self._bounds.depth} names")
        if problem := entry_problem(path):
            raise self._refused(path, problem)

    def _refused(self, path: str, reason: str) -> ArchiveRefused:
        return ArchiveRefused(self.name, reason, entry=self._prefix + path if path else "", hint=_FIX)


class _NotFollowed(Exception):
    """Why a link is left out."""


def _too_many_bytes(bounds: Bounds) -> str:
    return f"makes the skill too large: it has at most {in_mib(bounds.skill_bytes)}"


@dataclass(frozen=True, slots=True)
class UnpackedSkill:
    """What was written: each file by its path in the skill, and notes for the user."""

    files: Mapping[str, FileDigest]
    notes: tuple[str, ...] = ()


def unpack_skill(tree: Tree, path: str, destination: str, bounds: Bounds = BOUNDS, *, name: str = "") -> UnpackedSkill:
    """Write the skill at `path` of a tree (`""` is its top) into `destination`, an empty directory of our own.

    Of modes only the executable bit is kept. Raises ArchiveRefused, SourceUnreachable and LibraryUnwritable; then
    `destination` is empty again.
    """
    chosen = SkillFiles(tree.entries, path, bounds, name=name)
    try:
        return _written(tree, chosen, destination, bounds)
    except BaseException as error:
        shutil.rmtree(destination)
        os.mkdir(destination)
        if not isinstance(error, OSError):
            raise
        hint = "free space there, or name another directory for temporary files in TMPDIR, then try again"
        raise LibraryUnwritable(destination, error.strerror or type(error).__name__, hint=hint) from error


def _written(tree: Tree, chosen: SkillFiles, destination: str, bounds: Bounds) -> UnpackedSkill:
    digests: dict[str, FileDigest] = {}
    notes = [f"left out: {path!r} {reason}" for path, reason in sorted(chosen.left_out.items())]
    room = bounds.skill_bytes
    for file in chosen.files:
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
                    raise ArchiveRefused(chosen.name, _too_many_bytes(bounds), entry=file.source_path, hint=_FIX)
                digest.update(piece)
                beginning = beginning or piece[: len(_LFS_POINTER)]
                written.write(piece)
        room -= size
        digests[file.path] = FileDigest(digest.hexdigest(), size, file.executable)
        if beginning == _LFS_POINTER:
            notes.append(f"{file.path!r} is a pointer of Git LFS: what it stands for is kept elsewhere")
    return UnpackedSkill(digests, tuple(notes))


def digests_in(tree: Tree, files: Iterable[ChosenFile]) -> Mapping[str, FileDigest]:
    """Return the digest of each file of a skill that was not unpacked. Raises SourceUnreachable and ArchiveRefused."""
    found = {}
    for file in files:
        digest, size = hashlib.sha256(), 0
        for piece in tree.read(file.source_path):
            digest.update(piece)
            size += len(piece)
        found[file.path] = FileDigest(digest.hexdigest(), size, file.executable)
    return found
