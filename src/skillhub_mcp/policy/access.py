"""Access to skills: filters, choices and rules combined into one policy, read again when their files change.

A caller's filter narrows the server's. The errors for an excluded skill (`publishing.publisher` reports an unknown URI
instead, except for SKILL_CHANGED):

the caller's filter hides it           SKILL_NOT_FOUND, as if it did not exist
the server's filter excludes it        SKILL_DISABLED
a choice switches it off               SKILL_DISABLED
it awaits trust, which is required     SKILL_UNTRUSTED
the rules of its project are broken    POLICY_UNREADABLE
a rule denies the action               PERMISSION_DENIED
the audit withholds it                 SKILL_WITHHELD
its files differ from its lock file    SKILL_CHANGED, or LOCK_UNREADABLE, if such skills are withheld
there are rules, and none allows it    CONFIRMATION_REQUIRED, unless the user agrees

A project's rules affect only its own skills.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from skillhub_mcp._util.lru import LRUCache
from skillhub_mcp.errors import (
    ConfirmationRequired,
    PermissionDenied,
    PolicyUnreadable,
    RunNotPermitted,
    SkillChanged,
    SkillDisabled,
    SkillNotFound,
    SkillUntrusted,
    SkillWithheld,
)
from skillhub_mcp.policy.choices import NO_CHOICES, Choices
from skillhub_mcp.policy.files import PolicyFile
from skillhub_mcp.policy.rules import NO_RULES, Decision, Rules, RunRights
from skillhub_mcp.policy.tool_actions import TOOL_ACTIONS, Action, rule_tool
from skillhub_mcp.policy.trust import TrustMode
from skillhub_mcp.policy.visibility import Visibility
from skillhub_mcp.skills.model import Skill, Trust
from skillhub_mcp.skills.selectors import terms_of

if TYPE_CHECKING:
    from skillhub_mcp.auditing.auditor import Auditor
    from skillhub_mcp.locks.lock_verifier import LockVerifier

_MAX_PROJECTS = 32
_MAX_POLICIES = 256

EVERY_SKILL = Visibility()


class Grant(NamedTuple):
    """The user's consent in a session; for running, to the files of one `digest` and to `packages`."""

    action: Action
    directory: str
    digest: str = ""
    packages: bool = False


NOTHING_GRANTED: frozenset[Grant] = frozenset()


def load_grant(skill: Skill) -> frozenset[Grant]:
    """Return the grant that a client has for a skill that it loaded."""
    return frozenset({Grant(Action.LOAD, skill.directory)})


class Availability(str, Enum):
    """Whether a skill is served, or why not. UNDECIDED: the rules of its project cannot be read."""

    ON = "on"
    OFF = "off"
    DENIED = "denied"
    FILTERED = "filtered"
    UNTRUSTED = "untrusted"
    UNDECIDED = "undecided"
    WITHHELD = "withheld"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class UnreadableRules:
    """Why a project's rules cannot be used."""

    what: str
    path: str
    reason: str

    def as_error(self) -> PolicyUnreadable:
        """Return the error for a skill of the project."""
        fix = "fix or remove it; the skills of the project are not loaded until then"
        return PolicyUnreadable(self.what, path=self.path, reason=self.reason, fix=fix)


@dataclass(frozen=True)
class Policy:
    """Filters, choices and rules at one moment, for one project and caller.

    `visibility` is the server's filter and `caller` the caller's, which narrows it. `may_run` is whether the caller may
    run commands. With `asks`, an action that no rule decides needs consent. `trust` is how skills that await trust are
    treated; `unreadable` is set if the project's rules cannot be read. `audit` and `locks` withhold skills.
    """

    visibility: Visibility
    choices: Choices = NO_CHOICES
    rules: Rules = NO_RULES
    project: str = ""
    asks: bool = True
    caller: Visibility = EVERY_SKILL
    may_run: bool = True
    trust: TrustMode = TrustMode.LIMITED
    unreadable: UnreadableRules | None = None
    audit: Auditor | None = None
    locks: LockVerifier | None = None

    def hides(self, skill: Skill) -> bool:
        """Whether `skill` does not exist for the caller, who gets the answers for an unknown skill."""
        return not self.caller.allows(skill)

    def availability(self, skill: Skill) -> Availability:
        """Return whether `skill` is served, or why not."""
        if self.hides(skill) or not self.visibility.allows(skill):
            return Availability.FILTERED
        if self.choices.is_off(skill, project=self.project):
            return Availability.OFF
        if skill.awaits_trust and self.trust is TrustMode.NONE:
            return Availability.UNTRUSTED
        if self.unreadable is not None and self.heeds_project(skill):
            return Availability.UNDECIDED
        if self.decide(Action.LOAD, skill) is Decision.DENY:
            return Availability.DENIED
        # Last, since it may take a look at the skill's files.
        if self.audit is not None and self.audit.withholds(skill) is not None:
            return Availability.WITHHELD
        return Availability.ON if self.is_as_locked(skill) else Availability.CHANGED

    def offers(self, skill: Skill) -> bool:
        """Whether lists and searches show `skill`: one that cannot be loaded is not worth a token."""
        if self._keeps_none_back and skill.trust is Trust.OWN:
            audited = self.audit is None or self.audit.withholds(skill) is None
            return audited and self.is_as_locked(skill)
        return self.availability(skill) is Availability.ON

    @cached_property
    def _keeps_none_back(self) -> bool:
        """Whether only the audit and a lock file can withhold the user's own skills."""
        limited = self.visibility.limits or self.caller.limits or self.choices != NO_CHOICES
        return not limited and not self.rules.deny and self.rules.others is not Decision.DENY

    def check(self, skill: Skill, action: Action, granted: Collection[Grant] = NOTHING_GRANTED) -> None:
        """Return if `action` is permitted on `skill`, given what was `granted` in the session. Raises SkillHubError."""
        if self.hides(skill):
            raise SkillNotFound(skill.name)
        availability = self.availability(skill)
        if availability is Availability.FILTERED:
            raise SkillDisabled(skill.name, setting=self.visibility.setting)
        if availability is Availability.OFF:
            raise SkillDisabled(skill.name)
        if availability is Availability.UNTRUSTED:
            raise SkillUntrusted(skill.name)
        if self.unreadable is not None and availability is Availability.UNDECIDED:
            raise self.unreadable.as_error()
        decision = self.decide(action, skill)
        tool = rule_tool(action)
        if decision is Decision.DENY:
            raise PermissionDenied(tool, skill.name)
        withheld = None if self.audit is None else self.audit.withholds(skill, now=True)
        if withheld is not None:
            raise SkillWithheld(skill.name, rule=withheld.rule, place=withheld.place)
        self.check_locked(skill)
        # Agreement to the instructions covers the files that they refer to (rule 3 of `rules`).
        sufficient = (action, Action.LOAD) if action is Action.READ else (action,)
        if not self.asks or any(Grant(each, skill.directory) in granted for each in sufficient):
            return
        # No rule about its name would do for what awaits trust.
        untrusted = skill.awaits_trust and (self.trust is TrustMode.ASK or decision is Decision.CONFIRM)
        if decision is Decision.CONFIRM or untrusted:
            raise ConfirmationRequired(
                tool,
                skill.name,
                description=skill.description,
                directory=skill.directory,
                rule_name=skill.alias,
                untrusted_in=self.project if untrusted else "",
            )

    def check_locked(self, skill: Skill) -> None:
        """Return if `skill` is not withheld for its lock, by its files now. Raises SkillChanged and LockUnreadable."""
        error = None if self.locks is None else self.locks.differs(skill)
        if error is not None:
            raise error

    def is_as_locked(self, skill: Skill) -> bool:
        """Whether `check_locked` would return."""
        return self.locks is None or self.locks.differs(skill) is None

    @contextmanager
    def as_locked(self, skill: Skill) -> Iterator[None]:
        """Check that what is read in the block is as locked. Raises SkillChanged and what `check_locked` raises."""
        if self.locks is None:
            yield
            return
        before = self.locks.state(skill)
        self.check_locked(skill)
        yield
        if self.locks.state(skill) != before:
            raise SkillChanged(skill.name, reason="its files were written while they were read", hint="try again")

    def check_run(
        self,
        skill: Skill,
        granted: Collection[Grant] = NOTHING_GRANTED,
        *,
        digest: Callable[[], str],
        packages: Callable[[], Sequence[str]] = tuple,
    ) -> RunRights:
        """Return what a command of `skill` may do. Raises RunNotPermitted and what `check` and the functions raise."""
        if not self.may_run:
            raise RunNotPermitted
        replace(self, asks=False).check(skill, Action.RUN)
        found = digest()
        # A project's rules allow neither network nor packages.
        rights = self.rules.run_rights(terms_of(skill), digest=found)
        wanted = tuple(packages())
        agreed = [grant for grant in granted if grant[:3] == (Action.RUN, skill.directory, found)]
        # A project's commands need trust, or permission for these files.
        untrusted = skill.awaits_trust and not agreed and not rights.named
        allowed = self.decide(Action.RUN, skill, digest=found) is Decision.ALLOW or bool(agreed)
        unpermitted = () if rights.packages or any(grant.packages for grant in agreed) else wanted
        if self.asks and (not allowed or unpermitted or untrusted):
            raise ConfirmationRequired(
                rule_tool(Action.RUN),
                skill.name,
                description=skill.description,
                directory=skill.directory,
                rule_name=skill.alias,
                digest=found,
                changed=rights.changed and not allowed,
                packages=unpermitted,
                untrusted_in=self.project if untrusted else "",
                network=rights.network,
            )
        return rights

    def leaves_out(self, skills: Iterable[Skill]) -> bool:
        """Whether the caller may not load one of `skills` as they like."""
        return any(not self.offers(skill) or self.decide(Action.LOAD, skill) is not Decision.ALLOW for skill in skills)

    def check_tool(self, tool: str) -> None:
        """Return if `tool` may be called at all. Raises PermissionDenied and RunNotPermitted."""
        if not self.may_run and TOOL_ACTIONS.get(tool) is Action.RUN:
            raise RunNotPermitted
        if self.rules.denies_tool(tool):
            raise PermissionDenied(tool)

    def decide(self, action: Action, skill: Skill, *, digest: str | None = None) -> Decision:
        """Return the decision of the rules. A project's rules cannot deny a skill that the user switched on."""
        # A rule for a name does not allow an untrusted skill of that name. Rules for running have a digest.
        is_meant = not skill.awaits_trust or action is Action.RUN
        with_project = self.heeds_project(skill)
        return self.rules.decide(action, terms_of(skill), digest=digest, is_meant=is_meant, with_project=with_project)

    def heeds_project(self, skill: Skill) -> bool:
        """Whether the project's rules are about `skill`."""
        return skill.trust is not Trust.OWN and not self.choices.is_switched_on(skill, project=self.project)


class RulesAt(NamedTuple):
    """A file of rules and its path. One `of_project` concerns only that project's skills."""

    path: str
    rules: Rules
    of_project: bool


@dataclass(frozen=True)
class RuleFiles:
    """The user's file of rules, and a project's for its own skills."""

    own: PolicyFile[Rules]
    project: PolicyFile[Rules] | None = None

    def read_project(self) -> Rules | UnreadableRules | None:
        """Return the project's rules, why they cannot be used, or None where there are none."""
        try:
            return None if self.project is None else self.project.read()
        except PolicyUnreadable as error:
            return UnreadableRules(error.what, error.path, error.reason)

    def usable(self) -> tuple[RulesAt, ...]:
        """Return the files with valid rules, the user's first. Raises PolicyUnreadable for the user's."""
        own, of_project = self.own.read(), self.read_project()
        files = [] if own is None else [RulesAt(self.own.path, own, of_project=False)]
        if self.project is not None and isinstance(of_project, Rules):
            files.append(RulesAt(self.project.path, of_project, of_project=True))
        return tuple(files)

    def read(self) -> tuple[Rules, UnreadableRules | None]:
        """Return the rules in force, and why a project's are not. Raises PolicyUnreadable for the user's."""
        own, of_project = self.own.read() or NO_RULES, self.read_project()
        if isinstance(of_project, UnreadableRules):
            return own, of_project
        return replace(own, then=of_project), None


@dataclass(slots=True)
class _Pin:
    """The policy of one call."""

    access: Access
    policy: Policy
    active: bool = True


_PINNED: ContextVar[_Pin | None] = ContextVar("skillhub_pinned_policy", default=None)


class Access:
    """The policy in force, for the root that `project` returns now and for others. Thread-safe."""

    def __init__(
        self,
        visibility: Visibility,
        *,
        project: Callable[[], str],
        choices: PolicyFile[Choices],
        rule_files: Callable[[str], RuleFiles],
        asks: bool,
        trust: TrustMode = TrustMode.LIMITED,
        audit: Auditor | None = None,
        locks: LockVerifier | None = None,
    ) -> None:
        self._visibility = visibility
        self._project = project
        self._choices = choices
        self._rule_files = lru_cache(_MAX_PROJECTS)(rule_files)
        self._asks = asks
        self._trust = trust
        self._audit = audit
        self._locks = locks
        self._lock = threading.Lock()
        self._policies: LRUCache[tuple[str, Visibility, bool], tuple[object, Policy]] = LRUCache(_MAX_POLICIES)
        self._caller: Callable[[], Visibility | None] = lambda: None
        self._may_run: Callable[[], bool] = lambda: True

    def narrow_by(self, caller: Callable[[], Visibility | None], *, may_run: Callable[[], bool] | None = None) -> None:
        """Set the functions that return the current caller's filter (None for every skill) and right to run."""
        self._caller = caller
        self._may_run = may_run or self._may_run

    def sees(self, skill: Skill) -> bool:
        """Whether `skill` passes the filters, the server's and the current caller's."""
        return self._visibility.allows(skill) and (self._caller() or EVERY_SKILL).allows(skill)

    def may_run(self) -> bool:
        """Whether the current caller may run commands at all."""
        return self._may_run()

    def sees_everything(self) -> bool:
        """Whether the current caller has no filter, so that they may also see which files could not be read."""
        return not (self._caller() or EVERY_SKILL).limits

    @contextmanager
    def pinned(self) -> Iterator[Policy]:
        """Let `now` return one policy in this block, in its task and threads. Raises PolicyUnreadable."""
        pin = _Pin(self, self.now())
        token = _PINNED.set(pin)
        try:
            yield pin.policy
        finally:
            # A task that was started meanwhile has a copy of the context, and may outlive the call.
            pin.active = False
            _PINNED.reset(token)

    def now(self, project: str | None = None) -> Policy:
        """Return the policy for the current caller; the same value while nothing changes. Raises PolicyUnreadable."""
        pin = _PINNED.get()
        if project is None and pin is not None and pin.active and pin.access is self:
            return pin.policy
        caller, may_run = self._caller() or EVERY_SKILL, self._may_run()
        root = self._project() if project is None else project
        with self._lock:
            choices = self._choices.read() or NO_CHOICES
            rules, unreadable = self._rule_files(root).read()
            withheld = (self._audit and self._audit.changes(), self._locks and self._locks.changes())
            content = (choices, rules, unreadable, withheld)
            known = self._policies.get((root, caller, may_run))
            if known is not None and known[0] == content:
                return known[1]
            policy = Policy(
                self._visibility,
                choices,
                rules,
                root,
                self._asks,
                caller=caller,
                may_run=may_run,
                trust=self._trust,
                unreadable=unreadable,
                audit=self._audit,
                locks=self._locks,
            )
            self._policies.put((root, caller, may_run), (content, policy))
            return policy
