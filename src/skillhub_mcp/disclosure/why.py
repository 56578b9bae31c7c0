"""Explain why a skill is served or not, and which file decides."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from shlex import quote

from skillhub_mcp.environment import shell_path
from skillhub_mcp.policy.access import Availability, Policy, RulesAt
from skillhub_mcp.policy.rules import Decision
from skillhub_mcp.policy.tool_actions import DENYING, Action
from skillhub_mcp.policy.trust import TrustMode
from skillhub_mcp.skills.discovery import skill_path
from skillhub_mcp.skills.model import SKILL_FILE, Skill, Trust
from skillhub_mcp.skills.name_resolution import Names, is_folder_of, resembles
from skillhub_mcp.skills.names import fold_name, near_names, typed_command
from skillhub_mcp.skills.roots import is_at_or_below
from skillhub_mcp.skills.selectors import terms_of
from skillhub_mcp.skills.snapshot import Refused, Snapshot

_NEAR = 3
_TRUST = "skillhub trust"
_AWAITED = {
    Trust.AWAITED: "from an untrusted project",
    Trust.CHANGED: "from a project that changed since you trusted it",
}


class Verdict(str, Enum):
    """The status of a skill; if several apply, the first."""

    REFUSED = "refused"
    FILTERED = "filtered"
    OFF = "switched off"
    UNTRUSTED = "left out until it is trusted"
    UNDECIDED = "under rules that cannot be read"
    DENIED = "denied by a rule"
    WITHHELD = "withheld by the audit"
    CHANGED = "not as it was locked"
    SHADOWED = "shadowed"
    FOR_PEOPLE = "for people only"
    SERVED = "served"


@dataclass(frozen=True, slots=True)
class Cause:
    """Something that decides about a skill, where it is, and how to change it."""

    message: str
    path: str = ""
    line: int | None = None
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """The verdict on the skill in one directory, and its causes. A refused one has neither `name` nor `handle`."""

    verdict: Verdict
    directory: str
    name: str
    handle: str
    source: str
    causes: tuple[Cause, ...]


@dataclass(frozen=True, slots=True)
class NearName:
    """A name like the one that was asked for, and the verdict on its skill."""

    name: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Explanation:
    """The accounts of every skill that a name may mean, the one that it loads first; or why there is none."""

    asked: str
    accounts: tuple[Account, ...]
    unknown: tuple[Cause, ...] = ()
    near: tuple[NearName, ...] = ()


@dataclass(frozen=True, slots=True)
class AskedPath:
    """What is at a path that was asked for. `path` is the skill's absolute directory, `real` the same without links."""

    path: str
    real: str
    exists: bool
    is_directory: bool
    has_skill_file: bool


@dataclass(frozen=True, slots=True)
class Deciding:
    """The files with rules, and the path of the one with choices."""

    rules: Sequence[RulesAt] = ()
    choices: str = ""


@dataclass(frozen=True, slots=True)
class Explainer:
    """Explains the skills of one snapshot to one caller."""

    names: Names
    policy: Policy
    deciding: Deciding

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot whose names these are."""
        return self.names.snapshot

    def explain(self, asked: str, path: AskedPath | None = None) -> Explanation:
        """Return why the skill that `asked` names, or the one at `path`, is served or not."""
        spelt = () if path is None else self._spellings(path)
        found = self.names.find(asked) or next(filter(None, map(self.snapshot.by_directory, spelt)), None)
        name = asked if found is None else found.name
        meant = [] if found is None else [found]
        if path is None:
            meant += [skill for skill in self.snapshot.everything if skill is not found and resembles(skill, name)]
        accounts = [self._account(skill, asked) for skill in meant]
        folders = spelt or (asked,)
        accounts += [
            self._refused(one)
            for one in self.snapshot.report.refused
            if any(is_folder_of(one.directory, folder) for folder in folders)
        ]
        if accounts:
            return Explanation(asked, tuple(accounts))
        if path is not None:
            return Explanation(asked, (), (_why_no_path(path, spelt, self.snapshot),))
        verdicts = dict(self._verdicts())
        near = tuple(NearName(one, verdicts[one]) for one in near_names(asked, verdicts, limit=_NEAR))
        return Explanation(asked, (), tuple(self._why_no_name(asked)), near)

    def _spellings(self, path: AskedPath) -> tuple[str, ...]:
        """Return the path as given, without links, and below the roots as they were configured."""
        roots = [root for root in self.snapshot.report.roots if is_at_or_below(path.real, root.real)]
        below = (root.path + path.real.removeprefix(root.real) for root in roots)
        return tuple(dict.fromkeys((path.path, path.real, *below)))

    def _account(self, skill: Skill, asked: str) -> Account:
        causes = list(self._against(skill))
        verdict = causes[0][0] if causes else Verdict.SERVED
        notes = [cause for _, cause in causes]
        if verdict in (Verdict.SERVED, Verdict.FOR_PEOPLE):
            notes += self._of_served(skill)
        elif verdict is not Verdict.SHADOWED:
            other = self.names.find(skill.name)
            if other is not None and other is not skill and self.policy.offers(other):
                notes.append(Cause("answers to its name instead", other.directory))
        if fold_name(asked) == fold_name(os.path.basename(skill.directory)) != fold_name(skill.name):
            what = f"the folder has this name, and its SKILL.md names the skill {skill.name!r}"
            notes.append(Cause(what, skill_path(skill)))
        source = self.snapshot.source(skill).value
        return Account(verdict, skill.directory, skill.name, self.names.handle(skill), source, tuple(notes))

    def _against(self, skill: Skill) -> Iterator[tuple[Verdict, Cause]]:
        """Yield what keeps a skill from being served to models."""
        policy = self.policy
        if not policy.visibility.allows(skill):
            its = "its category" if policy.visibility.names is None else "it"
            what = f"{policy.visibility.setting} does not name {its}"
            yield Verdict.FILTERED, Cause(what, fix="add it there, or unset the setting")
        choice = policy.choices.about(skill, project=policy.project)
        if choice is not None and not choice.on:
            handle = self.names.handle(skill)
            named = (skill.alias or skill.directory) if handle == skill.name else handle
            fix = typed_command("skillhub enable", named, option="--project" * choice.in_project)
            where = f" in {policy.project}" if choice.in_project else ""
            yield Verdict.OFF, Cause(f"{choice.key!r} is off{where}", self.deciding.choices, fix=fix)
        availability = policy.availability(skill)
        if availability is Availability.UNTRUSTED:
            what = f"{_AWAITED[skill.trust]}, and SKILLHUB_TRUST=none leaves it out"
            yield Verdict.UNTRUSTED, Cause(what, fix=_TRUST)
        if availability is Availability.UNDECIDED and policy.unreadable is not None:
            error = policy.unreadable.as_error()
            yield Verdict.UNDECIDED, Cause(error.message, policy.unreadable.path, fix=error.fix)
        yield from self._denials(skill)
        found = policy.audit.withholds(skill) if policy.audit and availability is Availability.WITHHELD else None
        if found is not None:
            what = f"SKILLHUB_AUDIT=block, and the audit found something critical: {found.rule} ({found.place})"
            yield Verdict.WITHHELD, Cause(what, fix=f"read it with `skillhub audit {quote(skill.directory)}`")
        changed = policy.locks.differs(skill) if policy.locks and availability is Availability.CHANGED else None
        if changed is not None:
            yield Verdict.CHANGED, Cause(f"SKILLHUB_FROZEN: {changed.message}", fix=changed.hint or "")
        lost = self.names.shadowing(skill)
        if lost is not None:
            fix = f"this one loads as {self.names.handle(skill)}"
            yield Verdict.SHADOWED, Cause(f"wins the name: {lost.why.value}", lost.winner.directory, fix=fix)
        if skill.disable_model_invocation:
            what = "disable-model-invocation is set: models do not find it"
            yield Verdict.FOR_PEOPLE, Cause(what, skill_path(skill), fix="it loads by name, or remove that key")

    def _denials(self, skill: Skill) -> Iterator[tuple[Verdict, Cause]]:
        terms, heeds_project = terms_of(skill), self.policy.heeds_project(skill)
        for file in self.deciding.rules:
            for rule in file.rules.deny if heeds_project or not file.of_project else ():
                if rule.applies_to(DENYING[Action.LOAD], terms):
                    what = f"the rule {json.dumps(rule.as_json(), ensure_ascii=False)} denies it"
                    yield Verdict.DENIED, Cause(what, file.path, fix="remove that rule; `skillhub allow` lists all")

    def _of_served(self, skill: Skill) -> Iterator[Cause]:
        if skill.awaits_trust:
            asks = self.policy.trust is TrustMode.ASK
            asked = ", and an agent has to ask its user before it loads it" if asks else ""
            what = f"{_AWAITED[skill.trust]}: it cannot override your skills or be pinned{asked}"
            yield Cause(what, fix=_TRUST)
        if self.policy.decide(Action.LOAD, skill) is Decision.CONFIRM:
            what = "the rules do not allow it, so an agent has to ask its user first"
            yield Cause(what, fix=f"skillhub allow {skill.alias}")
        for other in self.snapshot.namesakes(skill):
            lost = self.names.shadowing(other)
            if lost is not None and lost.winner is skill:
                yield Cause(f"shadowed by it: {lost.why.value}", lost.skill.directory)

    def _refused(self, refused: Refused) -> Account:
        problem, reason = refused.as_problem(), refused.reason
        file = os.path.join(refused.directory, SKILL_FILE)
        source = {root.path: root.source.value for root in self.snapshot.report.roots}.get(refused.root, "")
        cause = Cause(problem.message, file, reason.line, problem.fix)
        return Account(Verdict.REFUSED, refused.directory, "", "", source, (cause,))

    def _verdicts(self) -> Iterator[tuple[str, Verdict]]:
        for one in self.snapshot.report.refused:
            yield os.path.basename(one.directory), Verdict.REFUSED
        for skill in self.snapshot.skills:
            against = next(self._against(skill), None)
            yield skill.name, Verdict.SERVED if against is None else against[0]

    def _why_no_name(self, asked: str) -> Iterator[Cause]:
        places = ", ".join(root.given for root in self.snapshot.report.roots) or "no directory"
        yield Cause(f"no skill is named {asked!r} below {places}")
        for problem in self.snapshot.report.problems:
            yield Cause(problem.message, problem.subject, fix=problem.fix)


def _why_no_path(path: AskedPath, spelt: Sequence[str], snapshot: Snapshot) -> Cause:
    roots = snapshot.report.roots

    def contains(directory: str) -> bool:
        return any(is_at_or_below(place, directory) for place in spelt)

    if not path.exists:
        return Cause("is not there", path.path)
    if not path.is_directory or not path.has_skill_file:
        return Cause("has no SKILL.md" if path.is_directory else "is not a directory", path.path)
    if not any(contains(root.path) for root in roots):
        add = f"`skillhub roots add {shell_path(os.path.dirname(path.path))}` has its directory searched"
        fix = f"put it below {roots[0].given}, or {add}" if roots else add
        return Cause("is not below a searched directory", path.path, fix=fix)
    around = next((skill.directory for skill in snapshot.everything if contains(skill.directory)), None)
    if around is not None:
        return Cause("is inside another skill", around)
    skipped = {place: reason for reason, places in snapshot.report.ignored.paths.items() for place in places}
    if (nearest := max(filter(contains, skipped), key=len, default=None)) is not None:
        return Cause(f"is not searched: {skipped[nearest].value}", nearest)
    return Cause("was not found by the scan", path.path, fix="skillhub index --verify")
