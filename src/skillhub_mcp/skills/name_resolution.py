"""Which skill a name refers to: the first that is offered, or else the first that is not hidden. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Protocol

from skillhub_mcp.skills.model import Skill, skill_directory
from skillhub_mcp.skills.names import fold_name, safe_alias, shown_name
from skillhub_mcp.skills.roots import Source, split_source
from skillhub_mcp.skills.snapshot import Shadowed, ShadowReason, Snapshot, shadow_reason


def is_folder_of(directory: str, text: str) -> bool:
    """Whether a text is the name or the path of a folder, or of the SKILL.md in it, with or without a source."""
    folder = skill_directory(os.path.normpath(split_source(text)[0]))
    return directory == folder or fold_name(os.path.basename(directory)) == fold_name(folder)


def resembles(skill: Skill, text: str) -> bool:
    """Whether a text is the name of a skill but for its spelling or its source, or means its folder."""
    wanted = split_source(text)[0]
    same_alias = bool(skill.alias) and skill.alias == safe_alias(wanted)
    return fold_name(skill.name) == fold_name(wanted) or same_alias or is_folder_of(skill.directory, wanted)


class Judge(Protocol):
    """Decides which skills a caller gets, as a policy does."""

    def offers(self, skill: Skill, /) -> bool:
        """Whether `skill` is served."""

    def hides(self, skill: Skill, /) -> bool:
        """Whether `skill` does not exist for the caller."""


class _NoJudge:
    def offers(self, _: Skill, /) -> bool:
        return True

    def hides(self, _: Skill, /) -> bool:
        return False


EVERY_SKILL_OFFERED: Judge = _NoJudge()


class Names:
    """The names of the skills of one snapshot, as `judge` lets them be known. Made for one answer, which it caches."""

    def __init__(self, snapshot: Snapshot, judge: Judge = EVERY_SKILL_OFFERED) -> None:
        self.snapshot = snapshot
        self.judge = judge
        # Listing a library asks for each name as often as it has skills, of which there may be thousands.
        self._settled: dict[str, Skill | None] = {}

    def find(self, text: str) -> Skill | None:
        """Return the skill for a name, a safe alias, `name@source`, `plugin:name`, or a path of a skill."""
        if text not in self._settled:
            found = self._first(self.snapshot.named(text))
            if found is None or found.awaits_trust:
                # A name with its source, or a path, means one skill: no other stands in for it.
                found = next(self._known(self.snapshot.exactly(text)), None) or found
            self._settled[text] = found
        return self._settled[text]

    def handle(self, skill: Skill) -> str:
        """Return the shortest text for which `find` returns exactly this skill, and that can be shown as it is."""
        name = shown_name(skill.name)
        handles = [name, f"{name}@{self.snapshot.source(skill).value}"]
        if plugin := self.snapshot.plugin(skill):
            handles.append(f"{plugin}:{name}")
        return next((handle for handle in handles if self.find(handle) is skill), skill.directory)

    def has_handle(self, skill: Skill) -> bool:
        """Whether `skill` answers to its name or to `name@source`, rather than to its path alone."""
        return skill.name not in self.snapshot.contested or self.handle(skill) != skill.directory

    def shadowing(self, skill: Skill) -> Shadowed | None:
        """Return which skill answers to the name of `skill` and comes before it, and why; None if none does."""
        if skill.name not in self.snapshot.contested:
            return None
        winner = self.find(skill.name)
        if winner is None or winner.name != skill.name or self.snapshot.rank(winner) >= self.snapshot.rank(skill):
            return None
        return Shadowed(skill, winner, shadow_reason(skill, winner))

    def is_copy(self, skill: Skill) -> bool:
        """Whether the skill that answers to the name of `skill` is the same, word for word."""
        return self._lost_as(ShadowReason.COPY, skill)

    def _lost_as(self, why: ShadowReason, skill: Skill) -> bool:
        lost = self.shadowing(skill)
        return lost is not None and lost.why is why

    def shadowed(self) -> tuple[Shadowed, ...]:
        """Return the skills to whose names others answer, offered or not, sorted by name and directory."""
        skills = (skill for group in self.snapshot.contested.values() for skill in self._known(group))
        lost = [one for one in map(self.shadowing, skills) if one is not None]
        return tuple(sorted(lost, key=lambda one: (one.skill.name, one.skill.directory)))

    def offered(self) -> tuple[Skill, ...]:
        """Return the offered skills that answer to their names, sorted by name."""
        offers = self.judge.offers
        groups = map(self.snapshot.namesakes, self.snapshot.skills)
        each = (group if len(group) == 1 else self._entitled(group) for group in groups)
        first = (next(filter(offers, skills), None) for skills in each)
        return tuple(skill for skill in first if skill is not None)

    def lists(self, skill: Skill) -> bool:
        """Whether a list that a host reads unasked may show `skill`: it is offered and does not await trust."""
        return not skill.awaits_trust and self.judge.offers(skill)

    def listed(self) -> tuple[Skill, ...]:
        """Return the offered skills that answer to their names, for lists that a host reads unasked: see `lists`."""
        return tuple(skill for skill in self.offered() if not skill.awaits_trust)

    def findable(self) -> tuple[Skill, ...]:
        """Return the offered skills by name, and those that lost their name for awaiting trust, as `name@source`."""
        offered = self.offered()
        awaiting = (one for group in self.snapshot.contested.values() for one in group if one.awaits_trust)
        lost = (one for one in awaiting if self.judge.offers(one) and self._lost_as(ShadowReason.TRUST, one))
        return tuple(sorted((*offered, *filter(self.has_handle, lost)), key=lambda skill: skill.name))

    def of_source(self, source: Source) -> tuple[Skill, ...]:
        """Return the offered skills of one source, sorted by name: those that answer to `name` or `name@source`."""
        of_source, offers = self.snapshot.source, self.judge.offers
        skills = (skill for skill in self.snapshot.everything if of_source(skill) is source and offers(skill))
        return tuple(sorted(filter(self.has_handle, skills), key=lambda skill: skill.name))

    def _first(self, skills: Sequence[Skill]) -> Skill | None:
        if len(skills) == 1:
            # Nearly every name: whether its skill is offered decides nothing, and asking costs a search most of this.
            return None if self.judge.hides(skills[0]) else skills[0]
        entitled = self._entitled(skills)
        return next(filter(self.judge.offers, entitled), None) or next(iter(entitled), None)

    def _entitled(self, skills: Sequence[Skill]) -> Sequence[Skill]:
        """Return those of `skills` that may answer: none that awaits trust, where one does not."""
        known = list(self._known(skills))
        return [skill for skill in known if not skill.awaits_trust] or known

    def _known(self, skills: Sequence[Skill]) -> Iterator[Skill]:
        return (skill for skill in skills if not self.judge.hides(skill))
