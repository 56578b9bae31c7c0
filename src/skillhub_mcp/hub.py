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

from skillhub_mcp.disclosure.absence import Absence, why_nothing
from skillhub_mcp.disclosure.catalogue import CatalogueEntry
from skillhub_mcp.disclosure.counts import SkillCounts, count_skills
from skillhub_mcp.disclosure.listing import ListedSkill, catalogue_entries, list_skills, mentionable_skills
from skillhub_mcp.disclosure.lookup import FoundByName, SkillLookup
from skillhub_mcp.disclosure.mentions import Resolution, resolve_mentions
from skillhub_mcp.disclosure.reader import LoadedSkill, SkillFile, SkillReader
from skillhub_mcp.errors import ExecutionTimeout, SandboxRequired
from skillhub_mcp.events import CANCELLED, NULL_OBSERVER, Observer, UseEvent, observe
from skillhub_mcp.index.progress import IndexProgress
from skillhub_mcp.index.views import SyncDepth, View, ViewSource
from skillhub_mcp.nul import refuse_nul
from skillhub_mcp.policy.access import NOTHING_GRANTED, Access, Grant, Policy
from skillhub_mcp.policy.gate import SkillUse, pass_gate
from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.search.engine import MAX_LIMIT, FoundSkill, SearchAnswer, SearchEngine
from skillhub_mcp.search.recent import Recent
from skillhub_mcp.search.standing import Standing
from skillhub_mcp.skills.admission import Admission
from skillhub_mcp.skills.digest import skill_digest
from skillhub_mcp.skills.files import FileContent, FileEntry
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.namesakes import Names
from skillhub_mcp.skills.problems import Problem
from skillhub_mcp.skills.roots import Source
from skillhub_mcp.skills.snapshot import Snapshot
from skillhub_mcp.skills.whereabouts import FilesOf, own_directory

if TYPE_CHECKING:
    from skillhub_mcp.auditing.auditor import Auditor
    from skillhub_mcp.auditing.rules import AuditFinding
    from skillhub_mcp.execution.runner import CommandResult
    from skillhub_mcp.execution.sandbox import Confinement, Sandbox
    from skillhub_mcp.execution.skill_command import CommandOptions
    from skillhub_mcp.locks.kept_library import KeptLibrary, LockStanding
    from skillhub_mcp.skills.registry_index import RegistryIndex
    from skillhub_mcp.store.replica import PublicationHealth

# Probes ask with few tokens.
_RECENT_CALLERS = 32

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
        live: ViewSource,
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
        kept: Callable[[], KeptLibrary] | None = None,
    ) -> None:
        self._kept = kept
        self.files_of = files_of
        self._publication = publication
        self._auditor = auditor
        self._live = live
        self._access = access
        self._engine = engine
        self._lookup = lookup
        self._reader = reader
        self._commands = commands
        self._elsewhere = elsewhere
        self._observer = observer
        self._served = Recent[int](_RECENT_CALLERS)

    # The index behind it

    def start(self) -> None:
        """Begin reading the skills in the background."""
        self._live.start()

    def close(self) -> None:
        """Stop the background threads."""
        self._live.close()
        if self._auditor is not None:
            self._auditor.close()

    def refresh(
        self, depth: SyncDepth = SyncDepth.CHANGES, *, only: Sequence[str] | None = None, waiting: bool = False
    ) -> View:
        """Sync the index with the files now, in this thread; with `only`, with the files at those paths.

        While a user is `waiting`, an embedder that is slow or down costs some seconds only.
        """
        refuse_nul(only=only)
        return self._live.sync(depth, only=only, waiting=waiting)

    def look_again(self) -> None:
        """Have the files and the agreements looked at now; wait for it, but not for a large library."""
        self._live.snapshot(fresh=True)

    def peek(self) -> View | None:
        """Return the present view, if there is one yet, without waiting."""
        return self._live.peek()

    def is_ready_for(self, query: str) -> bool:
        """Whether a search for `query` would be answered, or refused, without waiting for the first index."""
        return self._live.is_ready() or not self._engine.has_terms(query)

    def publication(self) -> PublicationHealth | None:
        """Return which publication is served, and how its storage does; None where there is none."""
        return None if self._publication is None else self._publication()

    @property
    def index_progress(self) -> IndexProgress:
        """The progress of the index."""
        return self._live.progress

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener`, from a thread of the hub, after each sync that found different skills."""
        self._live.subscribe(lambda is_other: listener() if is_other else None)

    def on_sync(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each sync, from the thread that synced: any file of a skill may have changed."""
        self._live.subscribe(lambda _: listener())

    def also_find(self, find: Callable[[str], FoundByName | None]) -> None:
        """Let `find` return from now on the skill for a handle that is none of this hub's own."""
        self._lookup.also_find(find)

    def also_take_uris(self, directory_at: Callable[[str], str | None]) -> None:
        """Take a URI for a skill's name from now on; `directory_at` returns the directory of the skill it is of."""
        self._lookup.also_take_uris(directory_at)

    def handle_of(self, directory: str) -> str | None:
        """Return the text that loads exactly the skill in that canonical directory: its name or `name@source`.

        None for a skill that this hub does not have, or has by its path alone.
        """
        snapshot = self._live.snapshot()
        skill = snapshot.by_directory(directory)
        handle = None if skill is None else Names(snapshot, self._access.now()).handle(skill)
        return None if handle == directory else handle

    def handle_named(self, name: str) -> str | None:
        """Return the text that loads the skill of that name; None where this caller may have none."""
        snapshot, policy = self._live.snapshot(), self._access.now()
        names = Names(snapshot, policy)
        skill = names.find(name)
        if skill is None or not policy.offers(skill):
            return None
        handle = names.handle(skill)
        return None if os.path.isabs(handle) else handle

    # Who may have what

    @property
    def access(self) -> Access:
        """Who may load what."""
        return self._access

    @property
    def observer(self) -> Observer:
        """The observer of the hub's events."""
        return self._observer

    @staticmethod
    def grant_for(skill: Skill) -> frozenset[Grant]:
        """Return the grant that having been given a skill's instructions amounts to."""
        return frozenset({Grant(Action.LOAD, skill.directory)})

    # What the audit found

    @property
    def auditor(self) -> Auditor | None:
        """The audit of this hub's skills; None where none is audited."""
        return self._auditor

    def audited(self, skill: Skill) -> tuple[AuditFinding, ...]:
        """Return what the audit is known to have found in `skill`, the worst first; nothing before it was audited."""
        return () if self._auditor is None else self._auditor.known(skill) or ()

    def lock_standing(self, skill: Skill) -> LockStanding | None:
        """Return how the files of `skill` stand against its lock now; None for a replica, which has no locks."""
        if self._kept is None:
            return None
        return self._kept().standing(skill.directory, skill.metadata)

    def lock_standings(self, skills: Iterable[Skill], *, provenance: bool = True) -> Iterator[LockStanding | None]:
        """Yield what `lock_standing` would return of each, in their order; the locks are looked at once for all.

        Without `provenance` not where other programs say that they are from, for which all of their fields are read.
        """
        if self._kept is None:
            return (None for _ in skills)
        asked = ((one.directory, one.metadata if provenance else None) for one in skills)
        return self._kept().standings(asked)

    # What is there

    def snapshot_and_policy(self, *, last_seen: bool = False) -> tuple[Snapshot, Policy]:
        """Return the present skills, and the policy for them; with `last_seen`, without checking the files."""
        view = self._live.peek() if last_seen else None
        return self._live.snapshot() if view is None else view.snapshot, self._access.now()

    def snapshot(self) -> Snapshot:
        """Return the present skills, whoever may have them."""
        return self._live.snapshot()

    def skills(self, *, agreed_only: bool = False) -> tuple[Skill, ...]:
        """Return the skills that are served, by name.

        With `agreed_only`, without those that await trust: for a list that a host reads unasked.
        """
        names = Names(self._live.snapshot(), self._access.now())
        return names.listed() if agreed_only else names.offered()

    def served(self) -> int:
        """Return how many skills are served, counted once for each caller and state of the skills.

        What the audit or a lock withholds may be another one each time: then they are counted each time.
        """
        snapshot, policy = self._live.snapshot(), self._access.now()
        withholds = policy.audit is not None or policy.locks is not None
        known = None if withholds else self._served.get((snapshot,), policy, None)
        if known is None:
            known = len(Names(snapshot, policy).offered())
            self._served.put((snapshot,), policy, None, known)
        return known

    def listed(self) -> tuple[ListedSkill, ...]:
        """Return the skills that are served and those that could be, by name. See `list_skills`."""
        return list_skills(self._live.snapshot(), self._access.now())

    def counts(self) -> SkillCounts:
        """Return how many of the present skills are served, and how many are not, by reason."""
        return count_skills(*self.snapshot_and_policy())

    def why_nothing(
        self,
        *,
        category: str | None = None,
        tags: Sequence[str] = (),
        source: Source | None = None,
        core: bool = False,
        for_models: bool = True,
    ) -> Absence:
        """Return why a list or a search with that filter has nothing to show. See `disclosure.absence`."""
        snapshot, policy = self._live.snapshot(), self._access.now()
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
        return catalogue_entries(list_skills(self._live.snapshot(), self._access.now()))

    def resolve(self, text: str, *, cwd: str) -> Resolution:
        """Return the skills that `text` mentions, as `$name` or by a path from `cwd`."""
        refuse_nul(text=text, cwd=cwd)
        return resolve_mentions(text, mentionable_skills(self._live.snapshot(), self._access.now()), cwd=cwd)

    def registry_index(self, admission: Admission, *, source: Source | None = None) -> RegistryIndex:
        """Return the registry's index of the present skills, or of one source, as far as this server serves them."""
        from skillhub_mcp.skills.registry_index import build_registry_index

        return build_registry_index(
            Names(self._live.snapshot(admission=admission), self._access.now()),
            source=source,
            whole=self._access.sees_everything(),
        )

    def find(self, skill_name: str) -> Skill:
        """Return the skill of that name or safe alias, or at `name@source` or a path, whether served or not.

        Raises SkillNotFound.
        """
        return self._lookup.find(skill_name).skill

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
        return self._engine.search(query, limit=limit, category=category, tags=tags, source=source, explain=explain)

    def standing(self, task: str, skill: Skill) -> Standing:
        """Return where `skill` stands in a search for `task`, and what the first has that it has not.

        Raises InvalidArgument for a task without a letter or digit, and IndexUnavailable.
        """
        return self._engine.standing(task, skill.directory)

    def load(self, skill_name: str, *, part: int = 1, granted: Collection[Grant] = NOTHING_GRANTED) -> LoadedSkill:
        """Return a skill's instructions as its SKILL.md holds them now.

        Raises SkillNotFound, SkillUnreadable, InvalidArgument for a part that does not exist, and what `Policy.check`
        raises.
        """
        return self._reader.load(skill_name, part=part, granted=granted)

    def load_whole(self, skill_name: str, *, granted: Collection[Grant] = NOTHING_GRANTED) -> tuple[LoadedSkill, str]:
        """Return the first part of a skill, and the instructions of all its parts. Raises what `load` raises."""
        first = self.load(skill_name, granted=granted)
        granted = {*granted, *self.grant_for(first.skill)}
        rest = (self.load(first.handle, part=part, granted=granted) for part in range(2, first.parts + 1))
        return first, "".join(one.instructions for one in (first, *rest))

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
        return self._reader.read_file(
            skill_name, file_path, offset=offset, granted=granted, as_stored=as_stored
        ).content

    def read_skill_file(
        self, skill_name: str, file_path: str, *, offset: int = 0, granted: Collection[Grant] = NOTHING_GRANTED
    ) -> SkillFile:
        """Return what `read_file` returns, with the skill that the name led to."""
        return self._reader.read_file(skill_name, file_path, offset=offset, granted=granted)

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
        return self._reader.read_bytes(
            skill, file_path, snapshot=snapshot, policy=policy, max_bytes=max_bytes, granted=granted
        )

    def list_files(
        self, skill_name: str, *, granted: Collection[Grant] = NOTHING_GRANTED
    ) -> tuple[tuple[FileEntry, ...], bool]:
        """Return the files of the skill that can be read, and whether there are more than are listed.

        Raises what `read_file` raises.
        """
        return self._reader.list_files(skill_name, granted=granted)

    def _confinement(self, skill: Skill) -> Confinement:
        """Return what a command of a skill may touch: the skill, and nothing else of what the hub keeps and serves."""
        from skillhub_mcp.execution.sandbox import Confinement

        snapshot, inside = self._live.snapshot(), skill.directory + os.sep
        # What is in no root by its own path may be in a place that every program reads.
        others = (one for one in snapshot.everything if one.directory != skill.directory)
        hidden = {
            one.directory
            for one in others
            if one.directory.startswith(inside) or snapshot.real_directory(one) != one.directory
        }
        hidden.update(root.path for root in snapshot.report.roots)
        return Confinement(readable=(skill.directory,), hidden=(*self._commands().hidden, *sorted(hidden)))

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
        """Run an allowed command in the skill's directory, without a shell, confined as `sandbox` says.

        It writes to the private directory of `session`, or to the `output_dir` that is named. It is killed with all
        that it started when `stop` is set. Raises SkillNotFound, CommandNotAllowed, CommandUnavailable,
        SandboxUnavailable, SandboxFailed, SandboxRequired, PackagesUnavailable, SkillUnverifiable, InvalidArgument, and
        what `Policy.check_run` raises.
        """
        from skillhub_mcp.execution.skill_command import CommandRequest, SkillCommand  # who runs none pays for none

        refuse_nul(command=command, args=args, output_dir=output_dir)
        with observe(self._observer, UseEvent(action="run", skill=skill_name, command=command)) as event:
            found, policy = self._lookup.find_to_run(skill_name, event=event)
            directory = found.skill.directory
            request = CommandRequest(command, tuple(args), session, output_dir)
            asked = SkillCommand(self._commands(), request, directory)

            def digest() -> str:
                event.digest = skill_digest(directory)
                return event.digest

            def packages() -> Sequence[str]:
                # Nobody is asked about what could not be run anyway.
                event.sandbox = self.sandbox(policy).name
                return asked.packages

            rights = policy.check_run(found.skill, granted, digest=digest, packages=packages)
            pass_gate(SkillUse(found.skill, found.handle, Action.RUN))
            event.network = rights.network
            result = asked.run(self._confinement(found.skill), self.sandbox(policy), network=rights.network, stop=stop)
            event.exit_code = result.exit_code
            if result.timeout:
                event.outcome = ExecutionTimeout.code
            elif stop is not None and stop.is_set():
                event.outcome = CANCELLED
        return result

    def sandbox(self, policy: Policy | None = None) -> Sandbox:
        """Return how commands are confined, for the caller of `policy` if there is one.

        Raises SandboxUnavailable, and SandboxRequired where they are not confined while some skill is left out.
        """
        from skillhub_mcp.execution.sandbox import OFF

        sandbox = self._commands().sandbox()
        unconfined = sandbox is OFF
        if unconfined and policy is not None and policy.leaves_out(self._live.snapshot().everything):
            raise SandboxRequired
        return sandbox

    def keeps_output_of(self, session: tuple[str, ...]) -> bool:
        """Whether commands have written something for the session of that key."""
        return self._commands().outputs.keeps(session)
