"""List skills: for people with their status, for a catalogue, and for resolving mentions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from skillhub_mcp.disclosure.catalogue import CatalogueEntry
from skillhub_mcp.disclosure.mentions import Mentionable
from skillhub_mcp.policy.access import Availability, Policy
from skillhub_mcp.skills.discovery import skill_path
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.roots import Source
from skillhub_mcp.skills.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class ListedSkill:
    """A skill in a list; `shadowed_by` has its name instead, and if it `is_away`, its root is missing."""

    skill: Skill
    source: Source
    handle: str
    shadowed_by: Skill | None
    standing: Availability
    is_away: bool = False

    @property
    def served(self) -> bool:
        """Whether agents may load it."""
        return self.standing is Availability.ON


def list_skills(snapshot: Snapshot, policy: Policy) -> tuple[ListedSkill, ...]:
    """Return the skills by name and priority; also disabled and denied ones, but none that a filter excludes."""
    names = Names(snapshot, policy)
    listed = [
        ListedSkill(
            skill,
            snapshot.source(skill),
            names.handle(skill),
            None if (lost := names.shadowing(skill)) is None else lost.winner,
            standing,
            is_away=snapshot.unavailable_root(skill) is not None,
        )
        for skill in snapshot.everything
        if (standing := policy.availability(skill)) is not Availability.FILTERED
    ]
    listed.sort(key=lambda entry: (entry.skill.name, snapshot.rank(entry.skill)))
    return tuple(listed)


def catalogue_entries(listed: Iterable[ListedSkill]) -> tuple[CatalogueEntry, ...]:
    """Return the skills that a model may choose, without those that await trust; pinned ones are most important."""
    return tuple(
        CatalogueEntry(
            name=one.skill.name,
            description=one.skill.description,
            path=skill_path(one.skill),
            source=one.source.value,
            scope="repo" if one.source is Source.PROJECT else "user",
            importance=(not one.skill.is_pinned, list(Source).index(one.source)),
        )
        for one in listed
        if one.served
        and one.shadowed_by is None
        and not one.skill.disable_model_invocation
        and not one.skill.awaits_trust
    )


def mentionable_skills(snapshot: Snapshot, policy: Policy) -> list[Mentionable]:
    """Return what a text may mention: every listed skill but copies."""
    names = Names(snapshot, policy)
    return [
        Mentionable(
            one.handle if one.skill.awaits_trust and one.handle != one.skill.name else one.skill.name,
            one.skill.directory,
            one.handle,
            enabled=one.served,
            awaits_trust=one.skill.awaits_trust,
            real_directory=snapshot.real_directory(one.skill),
        )
        for one in list_skills(snapshot, policy)
        if not names.is_copy(one.skill)
    ]


_WORDS = {
    "not_for_models": "not for models",
    "untrusted": "awaiting trust",
    "undecided": "of a project with unreadable rules",
    "withheld": "withheld by the audit",
    "changed": "not as locked",
}


@dataclass(frozen=True, slots=True)
class SkillCounts:
    """The skills of a snapshot under a policy, each counted once. `not_for_models` are a part of `served`."""

    served: int
    not_for_models: int = 0
    off: int = 0
    untrusted: int = 0
    undecided: int = 0
    denied: int = 0
    withheld: int = 0
    changed: int = 0
    filtered: int = 0
    shadowed: int = 0
    refused: int = 0

    def sentence(self) -> str:
        """Return, for example, `113 served, 1 not for models; 2 off, 1 refused`."""

        def said(names: Sequence[str]) -> str:
            counts = ((getattr(self, name), _WORDS.get(name, name)) for name in names)
            return ", ".join(f"{count:,} {what}" for count, what in counts if count)

        names = [field.name for field in fields(self)]
        return "; ".join(filter(None, (said(names[:2]) or "0 served", said(names[2:]))))


def count_skills(snapshot: Snapshot, policy: Policy) -> SkillCounts:
    """Return the counts of `snapshot` under `policy`."""
    names = Names(snapshot, policy)
    others = [skill for skill in snapshot.everything if names.shadowing(skill) is None]
    # `offers` is faster, and true of most.
    standing = {
        skill.directory: Availability.ON if policy.offers(skill) else policy.availability(skill) for skill in others
    }
    each = Counter(standing.values())
    return SkillCounts(
        served=each[Availability.ON],
        not_for_models=sum(
            skill.disable_model_invocation and standing[skill.directory] is Availability.ON for skill in others
        ),
        **{one.value: each[one] for one in Availability if one is not Availability.ON},
        shadowed=len(snapshot.everything) - len(others),
        refused=len(snapshot.report.refused),
    )
