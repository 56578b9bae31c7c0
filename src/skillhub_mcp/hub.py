"""The hub: search, load, read a file, run a command. A facade for the MCP tools, the shell and Python programs.

A model is shown skills in three tiers, and pays tokens only for what it asks for: names and descriptions (`search`,
`catalogue`), the instructions of one skill (`load`), and one of its files (`read_file`). What each method does is
written elsewhere: search in `search.engine`, names and permission in `disclosure.lookup`, text and files in
`disclosure.reader`, lists in `disclosure.listing`, commands in `execution`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from skillhub_mcp.disclosure.catalogue import CatalogueEntry
from skillhub_mcp.disclosure.empty_result import EmptyResult, why_nothing
from skillhub_mcp.disclosure.listing import ListedSkill, catalogue_entries, list_skills, mentionable_skills
from skillhub_mcp.disclosure.lookup import SkillLookup
from skillhub_mcp.disclosure.mentions import Resolution, resolve_mentions
from skillhub_mcp.disclosure.reader import LoadedSkill, SkillReader
from skillhub_mcp.errors import ExecutionTimeout, SandboxRequired
from skillhub_mcp.events import CANCELLED, NULL_OBSERVER, Observer, UseEvent, observe
from skillhub_mcp.index.views import SyncDepth, View, ViewSource
from skillhub_mcp.input_checks import refuse_nul
from skillhub_mcp.policy.access import NOTHING_GRANTED, Access, Grant, Policy
from skillhub_mcp.policy.gate import SkillUse, pass_gate
from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.search.engine import MAX_LIMIT, FoundSkill, SearchAnswer, SearchEngine
from skillhub_mcp.search.rank_explanation import RankExplanation
from skillhub_mcp.skills.admission import Admission
from skillhub_mcp.skills.digest import skill_digest
from skillhub_mcp.skills.discovery import FilesOf, own_directory
from skillhub_mcp.skills.files import FileContent, FileEntry
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.problems import Problem
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


class SkillHub:
    """Finds, loads and uses the skills that one server may serve. Safe to call from several threads.

    `elsewhere` returns the skills on this machine that are not searched; it is asked where there is no skill.
    `commands` returns what is settled of commands; it is asked where one is to be run, and answers the same each time.
    `files_of` says where the files of a skill lie. `publication` returns how a replica's publication does; it is None
    where skills are those of directories. `kept` returns what holds skills against their locks; it is asked where that
    is wanted.
    """

    def __init__(
        self,
        views: ViewSource,
        *,
        access: Access,
        engine: SearchEngine,
        lookup: SkillLookup,
        reader: SkillReader,
        commands: Callable[[], CommandOptions],
        elsewhere: Callable[[Snapshot], Sequence[Problem]] = lambda _: (),
        observer: Observer = NULL_OBSERVER,
        auditor: Auditor | None = None,
        files_of: FilesOf = own_directory,
        publication: Callable[[], PublicationHealth] | None = None,
        kept: Callable[[], LockVerifier] | None = None,
    ) -> None:
        self._kept = kept
        self.files_of = files_of
        self.publication = publication
        self.auditor = auditor
        self.views = views
        self.access = access
        self.engine = engine
        self.lookup = lookup
        self.reader = reader
        self.commands = commands
        self._elsewhere = elsewhere
        self.observer = observer

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
        """Sync the index with the files now, in this thread; with `only`, with the files at those paths.

        While a user is `waiting`, an embedder that is slow or down costs some seconds only.
        """
        refuse_nul(only=only)
        return self.views.sync(depth, only=only, waiting=waiting)

    def audited(self, skill: Skill) -> tuple[AuditFinding, ...]:
        """Return what the audit is known to have found in `skill`, the worst first; nothing before it was audited."""
        return () if self.auditor is None else self.auditor.known(skill) or ()

    def lock_standings(self, skills: Iterable[Skill], *, provenance: bool = True) -> Iterator[LockStanding | None]:
        """Yield how the files of each skill stand against its lock now; None for a replica, which has no locks.

        Without `provenance` not where other programs say that they are from, for which all of their fields are read.
        """
        if self._kept is None:
            return (None for _ in skills)
        asked = ((one.directory, one.metadata if provenance else None) for one in skills)
        return self._kept().standings(asked)

    # What is there

    def snapshot_and_policy(self, *, last_seen: bool = False) -> tuple[Snapshot, Policy]:
        """Return the present skills, and the policy for them; with `last_seen`, without checking the files."""
        view = self.views.peek() if last_seen else None
        return self.views.snapshot() if view is None else view.snapshot, self.access.now()

    def skills(self, *, agreed_only: bool = False) -> tuple[Skill, ...]:
        """Return the skills that are served, by name.

        With `agreed_only`, without those that await trust: for a list that a host reads unasked.
        """
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
            elsewhere=() if snapshot.everything else self._elsewhere(snapshot),
        )

    def catalogue(self) -> tuple[CatalogueEntry, ...]:
        """Return the skills that a model may choose, by name, as a catalogue has them.

        Skills that await trust are left out: a model reads a catalogue unasked.
        """
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
        """Return the skill of that name or safe alias, or at `name@source` or a path, whether served or not.

        Raises SkillNotFound.
        """
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
        """Return the skills that fit `query`, best first.

        Of a `category`, with all of `tags`, in any case; with `source`, those of that source, also where another has
        their name. A query without a letter or digit lists by name, with facets. A skill whose name is the query comes
        first. Where nothing fits well the answer says so and holds near misses only. A skill that models may not choose
        (`disable-model-invocation`) is never found, and can still be loaded by name. Raises InvalidArgument for a limit
        outside 1..100, and IndexUnavailable when no index can answer. A failing embedding provider is not an error:
        full text answers instead.
        """
        refuse_nul(query=query, category=category, tags=tags)
        return self.engine.search(query, limit=limit, category=category, tags=tags, source=source, explain=explain)

    def standing(self, task: str, skill: Skill) -> RankExplanation:
        """Return where `skill` stands in a search for `task`, and what the first has that it has not.

        Raises InvalidArgument for a task without a letter or digit, and IndexUnavailable.
        """
        return self.engine.standing(task, skill.directory)

    def load(self, skill_name: str, *, part: int = 1, granted: Collection[Grant] = NOTHING_GRANTED) -> LoadedSkill:
        """Return a skill's instructions as its SKILL.md holds them now.

        Raises SkillNotFound, SkillUnreadable, InvalidArgument for a part that does not exist, and what `Policy.check`
        raises.
        """
        return self.reader.load(skill_name, part=part, granted=granted)

    def read_file(
        self,
        skill_name: str,
        file_path: str,
        *,
        offset: int = 0,
        granted: Collection[Grant] = NOTHING_GRANTED,
        as_stored: bool = False,
    ) -> FileContent:
        """Return a file of the skill, from byte `offset` on; `as_stored`, only UTF-8 as text.

        Raises SkillNotFound, SkillFileNotFound, PathNotAllowed, InvalidArgument, and what `Policy.check` raises.
        """
        return self.reader.read_file(skill_name, file_path, offset=offset, granted=granted, as_stored=as_stored).content

    def read_bytes(
        self, skill: Skill, file_path: str, *, max_bytes: int, granted: Collection[Grant] = NOTHING_GRANTED
    ) -> bytes:
        """Return all of a file, byte for byte, of a skill that `snapshot_and_policy` returned.

        Its SKILL.md counts as loading it. Raises what `read_file` raises; a file of more than `max_bytes` counts as not
        found.
        """
        snapshot, policy = self.snapshot_and_policy()
        # It may have been read again since it was found: a handle is of a skill of this snapshot.
        skill = snapshot.by_directory(skill.directory) or skill
        return self.reader.read_bytes(
            skill, file_path, snapshot=snapshot, policy=policy, max_bytes=max_bytes, granted=granted
        )

    def list_files(
        self, skill_name: str, *, granted: Collection[Grant] = NOTHING_GRANTED
    ) -> tuple[tuple[FileEntry, ...], bool]:
        """Return the files of the skill that can be read, and whether there are more than are listed.

        Raises what `read_file` raises.
        """
        return self.reader.list_files(skill_name, granted=granted)

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
        """Run an allowed command in the skill's directory, without a shell, confined as the settings say.

        It writes to the private directory of `session`, or to the `output_dir` that is named. It is killed with all
        that it started when `stop` is set. Raises SkillNotFound, CommandNotAllowed, CommandUnavailable,
        SandboxUnavailable, SandboxFailed, SandboxRequired, PackagesUnavailable, SkillUnverifiable, InvalidArgument, and
        what `Policy.check_run` raises.
        """
        from skillhub_mcp.execution.skill_command import CommandRequest, SkillCommand

        refuse_nul(command=command, args=args, output_dir=output_dir)
        with observe(self.observer, UseEvent(action="run", skill=skill_name, command=command)) as event:
            found, policy = self.lookup.find_to_run(skill_name, event=event)
            directory = found.skill.directory
            request = CommandRequest(command, tuple(args), session, output_dir)
            asked = SkillCommand(self.commands(), request, directory)

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
            result = asked.run(self._confinement(found.skill), self._sandbox(policy), network=rights.network, stop=stop)
            event.exit_code = result.exit_code
            if result.timeout:
                event.outcome = ExecutionTimeout.code
            elif stop is not None and stop.is_set():
                event.outcome = CANCELLED
        return result

    def _sandbox(self, policy: Policy) -> Sandbox:
        """Return how commands are confined for the caller of a policy.

        Raises SandboxUnavailable, and SandboxRequired where they are not confined while some skill is left out.
        """
        from skillhub_mcp.execution.sandbox import OFF

        sandbox = self.commands().sandbox()
        if sandbox is OFF and policy.leaves_out(self.views.snapshot().everything):
            raise SandboxRequired
        return sandbox
