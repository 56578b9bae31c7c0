"""The artifacts of skills, and which of them the current caller may install elsewhere.

An artifact contains the bytes on disk, so that the installed skill has the same digest. It is the SKILL.md of a skill
without other files, and otherwise an archive. The policy and the hooks apply as for reading the files.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skillhub_mcp._util.lru import LRUCache
from skillhub_mcp._util.zip_archive import ArchivedFile, archive
from skillhub_mcp.errors import PathNotAllowed, ResourceNotFound, SkillFileNotFound, SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.policy.access import Policy
from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.publishing.entries import Stamps, stamps_of, unlisted_reason
from skillhub_mcp.publishing.uris import published_name
from skillhub_mcp.sanitize import for_model, shortened
from skillhub_mcp.skills.files.content import read_whole
from skillhub_mcp.skills.files.listing import FileEntry, list_files
from skillhub_mcp.skills.model import SKILL_FILE, Skill
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.names import is_utf_8
from skillhub_mcp.skills.parser import MAX_SPECIFIED_DESCRIPTION

log = logging.getLogger(__name__)

# The limits of the clients that unpack it.
MAX_FILES = 4_096
MAX_BYTES = 64 * 1024 * 1024

_REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class Artifact:
    """What others install of a skill: an archive or a SKILL.md, and the digest of its bytes, as `sha256:` and hex."""

    name: str
    description: str
    is_archive: bool
    digest: str


class ArtifactService:
    """The artifacts of one hub's skills, for each caller those that it may have. Thread-safe."""

    def __init__(self, hub: SkillHub, *, serve_dotfiles: bool) -> None:
        self._hub = hub
        self._serve_dotfiles = serve_dotfiles
        # Held while files are read: callers who come together find what the first has read.
        self._lock = threading.Lock()
        self._known: LRUCache[str, tuple[Stamps, Artifact]] = LRUCache(_REMEMBERED)
        self._reported: LRUCache[tuple[str, str], None] = LRUCache(_REMEMBERED)

    def all(self) -> Sequence[Artifact]:
        """Return the skills that the caller may have, by name. Reads only the files that have changed.

        A skill with a file that cannot be read is left out, with a line in the log. Raises PolicyUnreadable, and
        SkillFilesUnavailable: installers would take skills that are missing for a moment for removed ones.
        """
        with self._hub.access.pinned(), self._lock:
            found = (self._described(name, skill) for name, skill in sorted(self._named().items()))
            return [one for one in found if one is not None]

    def find(self, name: str) -> tuple[Artifact, Skill]:
        """Return the artifact of that name, and its skill. Raises ResourceNotFound, and what `all` raises."""
        with self._hub.access.pinned(), self._lock:
            skill = self._named().get(name)
            described = None if skill is None else self._described(name, skill)
            if skill is None or described is None:
                raise ResourceNotFound(name)
            return described, skill

    def _named(self) -> dict[str, Skill]:
        """Return the skills that the caller may have, by published name."""
        snapshot, policy = self._hub.snapshot_and_policy()
        named: dict[str, Skill] = {}
        for skill in Names(snapshot, policy).listed():
            name = published_name(skill)
            if name is None:
                self._report(skill, "its name has no form in a-z, 0-9 and hyphens")
            # A skill's own name wins over a name that was adapted.
            elif (name not in named or name == skill.name) and _is_given(skill, policy):
                named[name] = skill
        return named

    def document(self, skill: Skill) -> bytes:
        """Return the SKILL.md of a skill that `find` returned. Raises what `SkillHub.read_bytes` raises."""
        return self._hub.read_bytes(skill, SKILL_FILE, max_bytes=MAX_BYTES)

    def artifact(self, skill: Skill) -> bytes:
        """Return the artifact of a skill that `find` returned, which counts as loading it and reading its files.

        Raises what `SkillHub.read_bytes` raises, and ResourceNotFound if it can no longer be installed.
        """
        directory = self._hub.files_of(skill)
        listed, problem = self._list(directory)
        if problem:
            raise ResourceNotFound(skill.name)
        return _artifact(directory, listed, lambda path: self._hub.read_bytes(skill, path, max_bytes=MAX_BYTES))

    def _described(self, name: str, skill: Skill) -> Artifact | None:
        """Return the artifact of a skill; None if it cannot be installed, with a line in the log."""
        directory = self._hub.files_of(skill)
        listed, problem = self._list(directory)
        if problem:
            self._report(skill, problem)
            return None
        stamps, known = stamps_of(listed), self._known.get(skill.directory)
        if known is not None and known[0] == stamps:
            return known[1]

        def read(path: str) -> bytes:
            return read_whole(
                directory, path, skill=skill.name, max_bytes=MAX_BYTES, serve_dotfiles=self._serve_dotfiles
            )

        try:
            content = _artifact(directory, listed, read)
        except (SkillFileNotFound, PathNotAllowed) as error:
            self._report(skill, error.message)
            return None
        description = shortened(for_model(skill.description), MAX_SPECIFIED_DESCRIPTION)
        made = Artifact(name, description, len(listed) > 1, f"sha256:{hashlib.sha256(content).hexdigest()}")
        self._known.put(skill.directory, (stamps, made))
        return made

    def _list(self, directory: str) -> tuple[Sequence[FileEntry], str]:
        """Return the files of a skill, and why they cannot be installed, if they cannot."""
        listed, more = list_files(directory, serve_dotfiles=self._serve_dotfiles, max_files=MAX_FILES)
        problem = ""
        if more:
            problem = unlisted_reason(listed, MAX_FILES)
        elif sum(file.size for file in listed) > MAX_BYTES:
            problem = f"its files have more than {MAX_BYTES:,} bytes"
        elif not all(is_utf_8(file.path) for file in listed):
            problem = "it has a file whose name is not UTF-8"
        elif not any(file.path == SKILL_FILE for file in listed):
            problem = "its SKILL.md is gone"
        return listed, problem

    def _report(self, skill: Skill, problem: str) -> None:
        """Log once why a skill is left out: an index may be asked for each minute."""
        if (skill.directory, problem) not in self._reported:
            log.warning("%s is not offered for installation: %s", skill.name, problem)
        self._reported.put((skill.directory, problem), None)


def _is_given(skill: Skill, policy: Policy) -> bool:
    """Whether the caller may have all of a skill unasked. A skill that awaits trust is not passed on."""
    if skill.awaits_trust:
        return False
    try:
        policy.check(skill, Action.LOAD)
        policy.check(skill, Action.READ)
    except SkillHubError:
        return False
    return True


def _artifact(directory: str, listed: Sequence[FileEntry], read: Callable[[str], bytes]) -> bytes:
    """Return an artifact: the SKILL.md if there is no other file, else an archive of all files.

    Nothing in it is compressed: the bytes of that depend on the library, and replicas have to promise the same.
    """
    if len(listed) == 1:
        return read(SKILL_FILE)
    files = {file.path: ArchivedFile(read(file.path), _is_executable(directory, file.path)) for file in listed}
    return archive(files, compressed=False)


def _is_executable(directory: str, path: str) -> bool:
    try:
        return bool(os.stat(os.path.join(directory, *path.split("/"))).st_mode & stat.S_IXUSR)
    except OSError:
        return False
