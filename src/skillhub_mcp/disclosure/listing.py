"""List skills: for people with their status, for a catalogue, and for resolving mentions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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
    rank = {source: number for number, source in enumerate(Source)}
    return tuple(
        CatalogueEntry(
            name=one.skill.name,
            description=one.skill.description,
            path=skill_path(one.skill),
            source=one.source.value,
            scope="repo" if one.source is Source.PROJECT else "user",
            importance=(not one.skill.is_pinned, rank[one.source]),
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
