"""Read the instructions and files of skills for a caller: long instructions in parts, files within limits."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from skillhub_mcp.disclosure.lookup import FoundByName, SkillLookup
from skillhub_mcp.errors import (
    InvalidArgument,
    RootUnavailable,
    SkillChanged,
    SkillFileNotFound,
    SkillNotFound,
    SkillUnreadable,
)
from skillhub_mcp.events import NULL_OBSERVER, Observer, UseEvent, observe
from skillhub_mcp.policy.access import NOTHING_GRANTED, Grant, Policy, load_grant
from skillhub_mcp.policy.hook_gate import SkillUse, pass_gate
from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.sanitize import refuse_nul
from skillhub_mcp.skills.discovery import FilesOf, own_directory, skill_file_in
from skillhub_mcp.skills.files.content import FileContent, ReadLimits, read_file, read_whole, short_digest
from skillhub_mcp.skills.files.listing import FileEntry, list_files
from skillhub_mcp.skills.loader import read_instructions
from skillhub_mcp.skills.model import Skill, is_skill_file
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.roots import Source
from skillhub_mcp.skills.snapshot import Snapshot, UnavailableRoot
from skillhub_mcp.usage import UsageLog

if TYPE_CHECKING:
    from skillhub_mcp.auditing.auditor import Auditor
    from skillhub_mcp.auditing.rules import AuditFinding

T = TypeVar("T")

# An update moves the old directory away and then the new one into its place.
_RETRY_SECONDS = 0.05
_MAX_BODY_BYTES = 128 * 1024


@dataclass(frozen=True, slots=True)
class LoadedSkill:
    """A skill and one `part` of `parts` of its instructions. `digest` is of the whole body if it has several."""

    skill: Skill
    handle: str
    source: Source
    instructions: str
    part: int
    parts: int
    warnings: tuple[AuditFinding, ...] = ()
    digest: str = ""


class SkillReader:
    """Reads instructions and files of skills that the caller may use. Thread-safe."""

    def __init__(
        self,
        lookup: SkillLookup,
        *,
        files: ReadLimits,
        files_of: FilesOf = own_directory,
        usage: UsageLog | None = None,
        observer: Observer = NULL_OBSERVER,
        auditor: Auditor | None = None,
    ) -> None:
        self._auditor = auditor
        self._lookup = lookup
        self._files = files
        self._files_of = files_of
        self._usage = usage
        self._observer = observer

    def load_whole(self, skill_name: str, *, granted: Collection[Grant] = NOTHING_GRANTED) -> tuple[LoadedSkill, str]:
        """Return the first part of a skill, and all its instructions. Raises what `load` raises."""
        first = self.load(skill_name, part=1, granted=granted)
        granted = {*granted, *load_grant(first.skill)}
        rest = (self.load(first.handle, part=part, granted=granted) for part in range(2, first.parts + 1))
        return first, "".join(one.instructions for one in (first, *rest))

    def load(self, skill_name: str, *, part: int, granted: Collection[Grant]) -> LoadedSkill:
        """Return a part of a skill's instructions as they are now. Raises SkillHubError."""
        with observe(self._observer, UseEvent(action="load", skill=skill_name)) as event:
            found, instructions = self._read(
                skill_name, Action.LOAD, granted, event, lambda skill: read_instructions(skill, self._files_of(skill))
            )
            parts = split_body(instructions, max_bytes=_MAX_BODY_BYTES)
            event.part = part if len(parts) > 1 else None
            if not 1 <= part <= len(parts):
                available = f"parts 1 to {len(parts)}" if len(parts) > 1 else "one part"
                reason = f"is {part}, but {found.skill.name!r} has {available}"
                raise InvalidArgument("part", reason, hint="begin with part=1 and go on with next_part")
            event.size = len(parts[part - 1])
        if self._usage is not None and part == 1:
            self._usage.record_load(found.handle)
        warnings = self._auditor.look(found.skill) if self._auditor is not None and part == 1 else ()
        digest = short_digest(instructions.encode("utf-8", "surrogatepass")) if len(parts) > 1 else ""
        return LoadedSkill(found.skill, found.handle, found.source, parts[part - 1], part, len(parts), warnings, digest)

    def read_file(
        self, skill_name: str, file_path: str, *, offset: int, granted: Collection[Grant]
    ) -> tuple[Skill, FileContent]:
        """Return a skill and a file of it from byte `offset` on. Raises SkillHubError."""
        refuse_nul(file_path=file_path)
        with observe(self._observer, UseEvent(action="read", skill=skill_name, file_path=file_path)) as event:

            def read(skill: Skill) -> FileContent:
                directory, name = self._files_of(skill), skill.name
                return read_file(directory, file_path, skill=name, limits=self._files, offset=offset)

            found, content = self._read(skill_name, Action.READ, granted, event, read)
            event.size = (content.size if content.next_offset is None else content.next_offset) - content.offset
        if self._usage is not None:
            self._usage.record_read(found.handle, file_path)
        return found.skill, content

    def read_bytes(
        self,
        skill: Skill,
        file_path: str,
        *,
        snapshot: Snapshot,
        policy: Policy,
        max_bytes: int,
        granted: Collection[Grant],
    ) -> bytes:
        """Return the bytes of a file; reading SKILL.md counts as loading. Raises what `read_file` raises."""
        loads = is_skill_file(file_path)
        handle, source = Names(snapshot, policy).handle(skill), snapshot.source(skill).value
        event = UseEvent(action="load" if loads else "read", skill=handle, source=source, file_path=file_path)
        with observe(self._observer, event):
            policy.check(skill, Action.LOAD if loads else Action.READ, granted)
            if snapshot.has_moved(skill):
                raise SkillNotFound(skill.name)
            pass_gate(SkillUse(skill, handle, Action.READ, file_path))
            directory, dotfiles = self._files_of(skill), self._files.serve_dotfiles
            with _reporting_absence(skill, snapshot.unavailable_root(skill)), policy.as_locked(skill):
                content = read_whole(
                    directory, file_path, skill=skill.name, max_bytes=max_bytes, serve_dotfiles=dotfiles
                )
            event.size = len(content)
        if self._usage is not None:
            if loads:
                self._usage.record_load(handle)
            else:
                self._usage.record_read(handle, file_path)
        return content

    def list_files(self, skill: Skill) -> tuple[tuple[FileEntry, ...], bool]:
        """Return the readable files of a skill, whose names come with its instructions, and whether there are more."""
        return list_files(self._files_of(skill), serve_dotfiles=self._files.serve_dotfiles)

    def _read(
        self, skill_name: str, action: Action, granted: Collection[Grant], event: UseEvent, read: Callable[[Skill], T]
    ) -> tuple[FoundByName, T]:
        """Return the skill and what `read` reads of it; once more if it was replaced or moved since the last scan."""
        with self._lookup.access.pinned() as policy:
            found = self._lookup.find_allowed(skill_name, action, granted, event=event)
            before = _identity(found.skill)
            try:
                return found, _read_gated(found, action, policy, event, read)
            except (SkillUnreadable, SkillFileNotFound):
                there = skill_file_in(self._files_of(found.skill)) is not None
                if there and before is not None and _identity(found.skill) == before:
                    raise
            except SkillChanged:
                pass
            time.sleep(_RETRY_SECONDS)
            self._lookup.views.snapshot(fresh=True)
            found = self._lookup.find_allowed(skill_name, action, granted, event=event)
            return found, _read_gated(found, action, policy, event, read)


def _read_gated(found: FoundByName, action: Action, policy: Policy, event: UseEvent, read: Callable[[Skill], T]) -> T:
    pass_gate(SkillUse(found.skill, found.handle, action, event.file_path or ""))
    with _reporting_absence(found.skill, found.away), policy.as_locked(found.skill):
        return read(found.skill)


def split_body(body: str, *, max_bytes: int) -> list[str]:
    """Return `body` in parts of at most `max_bytes` UTF-8 bytes, split at line ends if possible."""
    encoded = body.encode("utf-8", "surrogatepass")
    parts: list[str] = []
    start = 0
    while len(encoded) - start > max_bytes:
        end = encoded.rfind(b"\n", start, start + max_bytes) + 1
        if end <= start:
            end = start + max_bytes
            while end > start + 1 and encoded[end] in range(0x80, 0xC0):
                end -= 1
        parts.append(encoded[start:end].decode("utf-8", "surrogatepass"))
        start = end
    parts.append(encoded[start:].decode("utf-8", "surrogatepass"))
    return parts


def _identity(skill: Skill) -> tuple[int, int] | None:
    """Return what distinguishes the skill's directory from another one at its path."""
    try:
        status = os.stat(skill.directory)
    except OSError:
        return None
    return status.st_dev, status.st_ino


@contextmanager
def _reporting_absence(skill: Skill, away: UnavailableRoot | None) -> Iterator[None]:
    """Raise RootUnavailable for a file that is missing because its root is."""
    try:
        yield
    except (SkillUnreadable, SkillFileNotFound) as error:
        if away is None:
            raise
        name = os.path.basename(away.path)
        raise RootUnavailable(skill.name, f"its skills directory {name!r} {away.reason}") from error
