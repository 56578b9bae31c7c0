"""What may be done with a skill now? Filters, choices and rules together, read afresh when their files change.

Who is asking may narrow all that further: to them the skills beyond their own filter do not exist. This is the one
place that knows of it, so no way to a skill can forget it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from enum import Enum

from skillhub_mcp.errors import ConfirmationRequired, PermissionDenied, SkillDisabled, SkillNotFound
from skillhub_mcp.policy.choices import NO_CHOICES, Choices
from skillhub_mcp.policy.files import PolicyFile
from skillhub_mcp.policy.rules import NO_RULES, Action, Decision, Rules, combined
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.visibility import Visibility

_KEPT_PROJECTS = 32
_KEPT_NARROWED = 256

EVERY_SKILL = Visibility()

Grant = tuple[Action, str]
NOTHING_GRANTED: frozenset[Grant] = frozenset()


class Availability(str, Enum):
    """What becomes of one skill: on is served; the others say why it is not."""

    ON = "on"
    OFF = "off"
    DENIED = "denied"
    FILTERED = "filtered"


@dataclass(frozen=True)
class Policy:
    """Filters, choices and rules as they are at one moment, for one project.

    `asks` is whether an act that the rules neither allow nor deny needs somebody's word. A person's own command is
    that word; an agent's call is not. `caller` is the filter of whoever asks, besides the server's own.
    """

    visibility: Visibility
    choices: Choices = NO_CHOICES
    rules: Rules = NO_RULES
    project: str = ""
    asks: bool = True
    caller: Visibility = EVERY_SKILL

    def hides(self, skill: Skill) -> bool:
        """Whether `skill` is none for whoever asks: they are told what they would be told if it were not there."""
        return not self.caller.allows(skill)

    def standing(self, skill: Skill) -> Availability:
        """Return what becomes of `skill`."""
        if self.hides(skill) or not self.visibility.allows(skill):
            return Availability.FILTERED
        on = self.choices.is_on(name=skill.name, alias=skill.alias, directory=skill.directory, project=self.project)
        if not on:
            return Availability.OFF
        denied = self.rules.verdict(Action.LOAD, _names(skill)) is Decision.DENY
        return Availability.DENIED if denied else Availability.ON

    def offers(self, skill: Skill) -> bool:
        """Whether lists and searches show `skill`: what cannot be loaded anyway is not worth a token."""
        return self.standing(skill) is Availability.ON

    def check(self, skill: Skill, act: Action, granted: Collection[Grant] = NOTHING_GRANTED) -> None:
        """Return where `act` may be done with `skill`; `granted` is what somebody agreed to in this session.

        Raises SkillNotFound for a skill that is hidden, SkillDisabled, PermissionDenied or ConfirmationRequired.
        """
        if self.hides(skill):
            raise SkillNotFound(skill.name)
        standing = self.standing(skill)
        if standing is Availability.FILTERED:
            raise SkillDisabled(skill.name, setting=self.visibility.setting)
        if standing is Availability.OFF:
            raise SkillDisabled(skill.name)
        verdict = self.rules.verdict(act, _names(skill))
        if verdict is Decision.DENY:
            raise PermissionDenied(act.value, skill.name)
        # Who agreed to the instructions agreed to the files that they speak of (rule 3 of `rules`).
        enough = {(act, skill.directory)} | ({(Action.LOAD, skill.directory)} if act is Action.READ else set())
        if verdict is Decision.CONFIRM and self.asks and not enough & set(granted):
            raise ConfirmationRequired(
                act.value, skill.name, description=skill.description, directory=skill.directory, rule_name=skill.alias
            )

    def check_tool(self, tool: str) -> None:
        """Return where `tool` may be called at all. Raises PermissionDenied."""
        if self.rules.denies_tool(tool):
            raise PermissionDenied(tool)


@dataclass(frozen=True)
class RuleFiles:
    """Where rules are: the person's own, and what a project brings along."""

    own: tuple[PolicyFile[Rules], ...]
    foreign: tuple[PolicyFile[Rules], ...]

    def read(self) -> tuple[Rules, ...]:
        """Return what every file that is there holds, the own ones first. Raises PolicyUnreadable."""
        return tuple(rules for file in (*self.own, *self.foreign) if (rules := file.read()) is not None)

    def combined(self) -> Rules:
        """Return the rules in force. Raises PolicyUnreadable."""
        own = [rules for file in self.own if (rules := file.read()) is not None]
        foreign = [rules for file in self.foreign if (rules := file.read()) is not None]
        return combined(own, foreign)


class Access:
    """The policy in force, for the project that the program runs in and for others. Safe to call from threads.

    `rule_files` returns where the rules of a project are.
    """

    def __init__(
        self,
        visibility: Visibility,
        *,
        project: str,
        choices: PolicyFile[Choices],
        rule_files: Callable[[str], RuleFiles],
        asks: bool,
    ) -> None:
        self._visibility = visibility
        self._project = project
        self._choices = choices
        self._rule_files = rule_files
        self._asks = asks
        self._lock = threading.Lock()
        self._known: dict[str, tuple[RuleFiles, object, Policy]] = {}
        self._caller: Callable[[], Visibility | None] = _nobody
        self._narrowed: OrderedDict[tuple[str, Visibility], tuple[Policy, Policy]] = OrderedDict()

    def narrow_by(self, caller: Callable[[], Visibility | None]) -> None:
        """Let `caller` say from now on which skills whoever is asking may have: None is all that the server serves.

        It is asked in the thread that asks for the policy. A thread of the hub's own serves nobody.
        """
        self._caller = caller

    def hides(self, skill: Skill) -> bool:
        """Whether `skill` is none for whoever is asking."""
        return not (self._caller() or EVERY_SKILL).allows(skill)

    def sees(self, skill: Skill) -> bool:
        """Whether the filters, the server's and that of whoever is asking, let `skill` be known of at all."""
        return self._visibility.allows(skill) and not self.hides(skill)

    def sees_everything(self) -> bool:
        """Whether whoever is asking has no filter, and may hear of what could not be read too."""
        return not (self._caller() or EVERY_SKILL).limits

    def now(self, project: str | None = None) -> Policy:
        """Return the policy as its files have it now, for whoever asks; the same value while all stays the same.

        Raises PolicyUnreadable, rather than let a mistake in a file widen anything.
        """
        caller = self._caller()
        root = self._project if project is None else project
        with self._lock:
            choices = self._choices.read() or NO_CHOICES
            known = self._known.get(root)
            files = self._rule_files(root) if known is None else known[0]
            read = (choices, files.read())
            if known is None or known[1] != read:
                policy = Policy(self._visibility, choices, files.combined(), root, self._asks)
                known = (files, read, policy)
                self._known[root] = known
                while len(self._known) > _KEPT_PROJECTS:
                    del self._known[next(iter(self._known))]
            return known[2] if caller is None else self._narrow(known[2], caller)

    def _narrow(self, policy: Policy, caller: Visibility) -> Policy:
        """Return `policy` for one filter, the same value for the same two. Holds the lock."""
        key = (policy.project, caller)
        kept = self._narrowed.get(key)
        if kept is None or kept[0] is not policy:
            kept = self._narrowed[key] = (policy, replace(policy, caller=caller))
        self._narrowed.move_to_end(key)
        while len(self._narrowed) > _KEPT_NARROWED:
            self._narrowed.popitem(last=False)
        return kept[1]


def _nobody() -> None:
    """Say that nobody in particular is asking."""


def _names(skill: Skill) -> tuple[str, ...]:
    return (skill.name, skill.alias)
