"""Find the skill that a caller names, and check that the caller may use it."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Collection
from typing import NamedTuple

from skillhub_mcp.disclosure.empty_result import why_nothing
from skillhub_mcp.errors import InvalidArgument, SkillNotFound
from skillhub_mcp.events import UseEvent
from skillhub_mcp.index.views import ViewSource
from skillhub_mcp.policy.access import NOTHING_GRANTED, Access, Grant, Policy
from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.sanitize import refuse_nul
from skillhub_mcp.skills.discovery import skill_path
from skillhub_mcp.skills.model import SKILL_FILE, Skill, Trust, is_skill_file, sentences, skill_directory
from skillhub_mcp.skills.name_resolution import Names, is_folder_of, resembles
from skillhub_mcp.skills.names import fold_name, not_found
from skillhub_mcp.skills.roots import Source, split_source
from skillhub_mcp.skills.scanner import is_outdated
from skillhub_mcp.skills.snapshot import Snapshot, UnavailableRoot

NOTHING_SERVED = "available skills: (none)"


class FoundByName(NamedTuple):
    """A skill, the shortest text that loads it, the source of its root, and the root if that is missing."""

    skill: Skill
    handle: str
    source: Source
    away: UnavailableRoot | None = None


class SkillLookup:
    """Finds skills by name for the present caller. Thread-safe. `search_tool` is the tool that errors name."""

    def __init__(self, views: ViewSource, access: Access, *, search_tool: str = "search_skills") -> None:
        self.views = views
        self.access = access
        self._search_tool = search_tool
        self._find_elsewhere: Callable[[str], FoundByName | None] = lambda _: None
        self._directory_at: Callable[[str], str | None] = lambda _: None

    def also_take_uris(self, directory_at: Callable[[str], str | None]) -> None:
        """Accept URIs as names; `directory_at` returns the directory of the skill of a URI."""
        self._directory_at = directory_at

    def also_find(self, find: Callable[[str], FoundByName | None]) -> None:
        """Register a fallback resolver for unknown handles."""
        self._find_elsewhere = find

    def handle_of(self, directory: str) -> str | None:
        """Return the name or `name@source` that loads the skill in that canonical directory, if one does."""
        snapshot = self.views.snapshot()
        skill = snapshot.by_directory(directory)
        handle = None if skill is None else Names(snapshot, self.access.now()).handle(skill)
        return None if handle == directory else handle

    def handle_named(self, name: str) -> str | None:
        """Return the text that loads the skill of that name, if the caller may load one."""
        snapshot, policy = self.views.snapshot(), self.access.now()
        names = Names(snapshot, policy)
        skill = names.find(name)
        if skill is None or not policy.offers(skill):
            return None
        handle = names.handle(skill)
        return None if os.path.isabs(handle) else handle

    def find_allowed(
        self,
        skill_name: str,
        action: Action,
        granted: Collection[Grant] = NOTHING_GRANTED,
        *,
        event: UseEvent | None = None,
    ) -> FoundByName:
        """Return the skill if `action` is allowed. Raises SkillNotFound and what `Policy.check` raises."""
        policy = self.access.now()
        found = self.find(skill_name, policy, event=event)
        policy.check(found.skill, action, granted)
        return found

    def find(self, skill_name: str, policy: Policy | None = None, *, event: UseEvent | None = None) -> FoundByName:
        """Return the skill of that name, alias, `name@source` or path, whether served or not. Raises SkillNotFound.

        The `event` gets its handle and source.
        """
        found = self._find(skill_name, policy or self.access.now())
        if event is not None:
            event.skill, event.source = found.handle, found.source.value
        return found

    def _find(self, skill_name: str, policy: Policy) -> FoundByName:
        refuse_nul(skill_name=skill_name)
        name = unicodedata.normalize("NFKC", skill_name).strip()
        if not name:
            tool = self._search_tool
            hint = f"find the names with {tool}" if tool else "give the name of a skill"
            raise InvalidArgument("skill_name", "is empty", hint=hint)
        at = self._directory_at(name)
        wanted = (name, skill_name) if at is None else (at,)
        snapshot = self.views.snapshot()
        names = Names(snapshot, policy)
        skill = names.find(wanted[0]) or names.find(wanted[-1])
        elsewhere = self._find_elsewhere(name) if skill is None else None
        if elsewhere is not None and not policy.hides(elsewhere.skill):
            return elsewhere
        if skill is None or _was_replaced(skill, snapshot):
            # It may have been written since the last scan.
            snapshot = self.views.snapshot(fresh=True)
            names = Names(snapshot, policy)
            skill = names.find(wanted[0]) or names.find(wanted[-1])
        if skill is None or snapshot.has_moved(skill):
            raise _not_found(name, snapshot, policy, search_tool=self._search_tool)
        handle = names.handle(skill)
        if at is not None and handle == skill.directory:
            # The path is not for a remote caller.
            handle = name
        return FoundByName(skill, handle, snapshot.source(skill), snapshot.unavailable_root(skill))


def _was_replaced(skill: Skill, snapshot: Snapshot) -> bool:
    """Whether a project's skill changed since the scan by which its trust was judged."""
    written = skill.trust is Trust.AGREED and os.path.lexists(skill_path(skill)) and is_outdated(skill)
    return written or snapshot.has_moved(skill)


def _not_found(name: str, snapshot: Snapshot, policy: Policy, *, search_tool: str) -> SkillNotFound:
    names = Names(snapshot, policy)
    offered = [skill.name for skill in names.offered() if not skill.disable_model_invocation]
    if policy.caller.limits:
        # The same answer for every name: others would reveal what is beyond the caller's filter.
        return not_found(name, offered, search_tool=search_tool)
    folder = next((one for one in snapshot.report.refused if is_folder_of(one.directory, name)), None)
    if folder is not None:
        reason = folder.reason
        at = f" at line {reason.line}" if reason.line else ""
        why = f"the SKILL.md of a folder of that name is refused{at}: {reason.message} ({reason.rule})"
        path = os.path.join(folder.directory, SKILL_FILE)
        return SkillNotFound(name, hint=reason.hint, reason=why, path=path)
    roots = {root.path for root in snapshot.report.roots}
    problems = (one for one in snapshot.report.problems if one.subject not in roots)
    problem = next((one for one in problems if is_folder_of(skill_directory(one.subject), name)), None)
    if problem is not None:
        what = "the SKILL.md of a folder" if is_skill_file(os.path.basename(problem.subject)) else "a folder"
        why = f"{what} of that name {problem.message}"
        return SkillNotFound(name, hint=problem.fix, reason=why, path=problem.subject)
    other = next((skill for skill in snapshot.everything if resembles(skill, name)), None)
    if other is not None and policy.offers(other) and not os.path.isabs(handle := names.handle(other)):
        why = _other_name(name, other, snapshot.source(other))
        return SkillNotFound(name, near=[handle], hint=f"load it as {handle!r}", reason=why)
    if not offered:
        causes = sentences(why_nothing(snapshot, policy).causes, with_paths=False)
        return SkillNotFound(name, hint=f"{NOTHING_SERVED}. {causes}")
    return not_found(name, offered, search_tool=search_tool)


def _other_name(asked: str, skill: Skill, source: Source) -> str:
    """Return why `asked` does not mean `skill`, which was probably meant."""
    _, wanted = split_source(asked)
    if wanted and wanted != source.value:
        return f"the source {wanted!r} has no skill of that name"
    if is_folder_of(skill.directory, asked) and fold_name(skill.name) != fold_name(asked):
        return f"the folder of that name holds {skill.name!r}"
    return f"it is written {skill.name!r}"
