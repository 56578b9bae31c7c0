"""The hub: search, load, read a file, run a command. A facade for the MCP tools, the shell and Python programs."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from skillhub_mcp.disclosure.catalogue import CatalogueEntry
from skillhub_mcp.disclosure.empty_result import EmptyResult, why_nothing
from skillhub_mcp.disclosure.listing import ListedSkill, catalogue_entries, list_skills, mentionable_skills
from skillhub_mcp.disclosure.lookup import SkillLookup
from skillhub_mcp.disclosure.mentions import Resolution, resolve_mentions
from skillhub_mcp.disclosure.reader import LoadedSkill, SkillReader
from skillhub_mcp.errors import ExecutionTimeout, SandboxRequired
from skillhub_mcp.events import CANCELLED, NULL_OBSERVER, Observer, UseEvent, observe
from skillhub_mcp.index.views import View, ViewSource
from skillhub_mcp.index.writer import SyncDepth
from skillhub_mcp.policy.access import NOTHING_GRANTED, Access, Grant, Policy
from skillhub_mcp.policy.hook_gate import SkillUse, pass_gate
from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.project import Project
from skillhub_mcp.sanitize import refuse_nul
from skillhub_mcp.search.engine import MAX_LIMIT, FoundSkill, SearchAnswer, SearchEngine
from skillhub_mcp.skills.admission import Admission
from skillhub_mcp.skills.digest import skill_digest
from skillhub_mcp.skills.discovery import FilesOf, own_directory
from skillhub_mcp.skills.files.content import FileContent
from skillhub_mcp.skills.files.listing import FileEntry
from skillhub_mcp.skills.model import Problem, Skill
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.roots import Source
from skillhub_mcp.skills.snapshot import Snapshot

if TYPE_CHECKING:
    from skillhub_mcp.auditing.auditor import Auditor
    from skillhub_mcp.auditing.rules import AuditFinding
    from skillhub_mcp.execution.runner import CommandResult
    from skillhub_mcp.execution.sandbox import Confinement, Sandbox
    from skillhub_mcp.execution.skill_command import CommandOptions
    from skillhub_mcp.locks.lock_verifier import LockStanding, LockVerifier
    from skillhub_mcp.skills.registry import RegistryIndex
    from skillhub_mcp.store.replica import PublicationHealth

__all__ = ["MAX_LIMIT", "FoundSkill", "ListedSkill", "LoadedSkill", "SearchAnswer", "SkillHub"]


@dataclass(eq=False)
class SkillHub:
    """Finds, loads and uses the skills that one server may serve. Thread-safe.

    `commands` returns how commands run, and `locks` what verifies locks (None for a replica).
    `elsewhere` returns skills on this machine outside the roots, for empty lists. `project` returns the project that is
    searched (None if none is), `files_of` the directory with a skill's files, `publication` the health of a replica.
    """

    views: ViewSource
    _: KW_ONLY
    access: Access
    engine: SearchEngine
    lookup: SkillLookup
    reader: SkillReader
    commands: Callable[[], CommandOptions]
    elsewhere: Callable[[Snapshot], Sequence[Problem]] | None = None
    project: Callable[[], Project] | None = None
    observer: Observer = NULL_OBSERVER
    auditor: Auditor | None = None
    files_of: FilesOf = own_directory
    publication: Callable[[], PublicationHealth] | None = None
    locks: Callable[[], LockVerifier] | None = None

    # The index behind it

    def start(self) -> None:
        """Begin reading the skills in the background."""
        self.views.start()

    def close(self) -> None:
        """Stop the background threads."""
        self.views.close()
        if self.auditor is not None:
            self.auditor.close()

    def refresh(
        self, depth: SyncDepth = SyncDepth.CHANGES, *, only: Sequence[str] | None = None, waiting: bool = False
    ) -> View:
        """Sync the index with the files, or those at `only`; `waiting` limits what a slow embedder may take."""
        refuse_nul(only=only)
        return self.views.sync(depth, only=only, waiting=waiting)

    def audited(self, skill: Skill) -> tuple[AuditFinding, ...]:
        """Return what the audit is known to have found in `skill`, the worst first; nothing before it was audited."""
        return () if self.auditor is None else self.auditor.known(skill) or ()

    def lock_standings(self, skills: Iterable[Skill]) -> Iterator[LockStanding | None]:
        """Yield each skill's standing against its lock; None for a replica, which has no locks."""
        if self.locks is None:
            return (None for _ in skills)
        return self.locks().standings(one.directory for one in skills)

    # What is there

    def snapshot_and_policy(self, *, last_seen: bool = False) -> tuple[Snapshot, Policy]:
        """Return the present skills, and the policy for them; with `last_seen`, without checking the files."""
        view = self.views.peek() if last_seen else None
        return self.views.snapshot() if view is None else view.snapshot, self.access.now()

    def skills(self, *, agreed_only: bool = False) -> tuple[Skill, ...]:
        """Return the served skills by name; with `agreed_only`, without those that await trust."""
        names = Names(self.views.snapshot(), self.access.now())
        return names.listed() if agreed_only else names.offered()

    def listed(self) -> tuple[ListedSkill, ...]:
        """Return the skills that are served and those that could be, by name. See `list_skills`."""
        return list_skills(self.views.snapshot(), self.access.now())

    def why_nothing(
        self,
        *,
        category: str | None = None,
        tags: Sequence[str] = (),
        source: Source | None = None,
        core: bool = False,
        for_models: bool = True,
    ) -> EmptyResult:
        """Return why a list or a search with that filter has nothing to show. See `disclosure.empty_result`."""
        snapshot, policy = self.views.snapshot(), self.access.now()
        return why_nothing(
            snapshot,
            policy,
            category=category,
            tags=tags,
            source=source,
            core=core,
            for_models=for_models,
            elsewhere=self.elsewhere(snapshot) if self.elsewhere is not None and not snapshot.everything else (),
            project=None if self.project is None else self.project(),
        )

    def catalogue(self) -> tuple[CatalogueEntry, ...]:
        """Return the skills that a model may choose, by name, without those that await trust."""
        return catalogue_entries(list_skills(self.views.snapshot(), self.access.now()))

    def resolve(self, text: str, *, cwd: str) -> Resolution:
        """Return the skills that `text` mentions, as `$name` or by a path from `cwd`."""
        refuse_nul(text=text, cwd=cwd)
        return resolve_mentions(text, mentionable_skills(self.views.snapshot(), self.access.now()), cwd=cwd)

    def registry_index(self, admission: Admission, *, source: Source | None = None) -> RegistryIndex:
        """Return the registry's index of the present skills, or of one source, as far as this server serves them."""
        from skillhub_mcp.skills.registry import build_registry_index

        return build_registry_index(
            Names(self.views.snapshot(admission=admission), self.access.now()),
            source=source,
            whole=self.access.sees_everything(),
        )

    def find(self, skill_name: str) -> Skill:
        """Return the skill for a name, alias, `name@source` or path, served or not. Raises SkillNotFound."""
        return self.lookup.find(skill_name).skill

    # The tiers of disclosure

    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        category: str | None = None,
        tags: Sequence[str] = (),
        source: Source | None = None,
        explain: bool = False,
    ) -> SearchAnswer:
        """Return the skills that fit `query`, best first, or all by name if it has no word. Raises SkillHubError.

        `category` and `tags` (all of them) are compared in any letter case; `source` includes its shadowed skills.
        """
        refuse_nul(query=query, category=category, tags=tags)
        return self.engine.search(query, limit=limit, category=category, tags=tags, source=source, explain=explain)

    def load(self, skill_name: str, *, part: int = 1, granted: Collection[Grant] = NOTHING_GRANTED) -> LoadedSkill:
        """Return a skill's instructions as they are now. Raises SkillHubError."""
        return self.reader.load(skill_name, part=part, granted=granted)

    def read_file(
        self,
        skill_name: str,
        file_path: str,
        *,
        offset: int = 0,
        granted: Collection[Grant] = NOTHING_GRANTED,
    ) -> FileContent:
        """Return a file from byte `offset` on. Raises SkillHubError."""
        return self.reader.read_file(skill_name, file_path, offset=offset, granted=granted)[1]

    def read_bytes(
        self, skill: Skill, file_path: str, *, max_bytes: int, granted: Collection[Grant] = NOTHING_GRANTED
    ) -> bytes:
        """Return a whole file of a skill; SKILL.md counts as loading. Raises SkillHubError, also above `max_bytes`."""
        snapshot, policy = self.snapshot_and_policy()
        # It may have been read again since it was found: a handle is of a skill of this snapshot.
        skill = snapshot.by_directory(skill.directory) or skill
        return self.reader.read_bytes(
            skill, file_path, snapshot=snapshot, policy=policy, max_bytes=max_bytes, granted=granted
        )

    def list_files(self, skill_name: str) -> tuple[tuple[FileEntry, ...], bool]:
        """Return the readable files of the skill, and whether there are more. Raises what `read_file` raises."""
        return self.reader.list_files(self.lookup.find_allowed(skill_name, Action.READ, NOTHING_GRANTED).skill)

    def _confinement(self, skill: Skill) -> Confinement:
        """Return what a command of a skill may touch: the skill, and nothing else of what the hub keeps and serves."""
        from skillhub_mcp.execution.sandbox import Confinement

        snapshot, inside = self.views.snapshot(), skill.directory + os.sep
        # What is in no root by its own path may be in a place that every program reads.
        others = (one for one in snapshot.everything if one.directory != skill.directory)
        hidden = {
            one.directory
            for one in others
            if one.directory.startswith(inside) or snapshot.real_directory(one) != one.directory
        }
        hidden.update(root.path for root in snapshot.report.roots)
        return Confinement(readable=(skill.directory,), hidden=(*self.commands().hidden, *sorted(hidden)))

    def run_command(
        self,
        skill_name: str,
        command: str,
        args: Sequence[str] = (),
        *,
        granted: Collection[Grant] = NOTHING_GRANTED,
        stop: threading.Event | None = None,
        session: tuple[str, ...] = ("process",),
        output_dir: str | None = None,
    ) -> CommandResult:
        """Run an allowed command in the skill's directory, without a shell, until `stop`. Raises SkillHubError.

        It may write to `output_dir`, else to the private directory of `session`.
        """
        from skillhub_mcp.execution.skill_command import SkillCommand

        refuse_nul(command=command, args=args, output_dir=output_dir)
        with observe(self.observer, UseEvent(action="run", skill=skill_name, command=command)) as event:
            policy = self.access.now()
            found = self.lookup.find(skill_name, policy, event=event)
            directory = found.skill.directory
            asked = SkillCommand(self.commands(), directory, command, args)

            def digest() -> str:
                event.digest = skill_digest(directory)
                return event.digest

            def packages() -> Sequence[str]:
                # Do not ask about a command that could not run anyway.
                event.sandbox = self._sandbox(policy).name
                return asked.packages

            rights = policy.check_run(found.skill, granted, digest=digest, packages=packages)
            pass_gate(SkillUse(found.skill, found.handle, Action.RUN))
            event.network = rights.network
            result = asked.run(
                self._confinement(found.skill),
                self._sandbox(policy),
                network=rights.network,
                session=session,
                output_dir=output_dir,
                stop=stop,
            )
            event.exit_code = result.exit_code
            if result.timeout:
                event.outcome = ExecutionTimeout.code
            elif stop is not None and stop.is_set():
                event.outcome = CANCELLED
        return result

    def _sandbox(self, policy: Policy) -> Sandbox:
        """Return the sandbox for the caller of a policy. Raises SandboxUnavailable and SandboxRequired."""
        from skillhub_mcp.execution.sandbox import OFF

        sandbox = self.commands().sandbox()
        if sandbox is OFF and policy.leaves_out(self.views.snapshot().everything):
            raise SandboxRequired
        return sandbox
