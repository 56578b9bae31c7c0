"""Lists of skills: for people, with the status of each; for a catalogue; and for resolving mentions. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from skillhub_mcp.disclosure.catalogue import CatalogueEntry
from skillhub_mcp.disclosure.mentions import Mentionable
from skillhub_mcp.policy.access import Availability, Policy
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.roots import Source
from skillhub_mcp.skills.skill_dirs import skill_path
from skillhub_mcp.skills.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class ListedSkill:
    """A skill in a list: its source, its handle, the skill that answers to its name instead, if any, and its
    `standing`: whether it is served and, if not, why. One that `is_away` cannot be loaded now: its root is missing.
    """

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
    """Return the skills that are served or could be, by name, those with one name in order of priority.

    Skills that the server's settings or the caller's filter leave out are not listed; disabled and denied
    skills are.
    """
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
    """Return the skills that a model may choose, without those that await trust.

    Skills that always apply are the most important, then those of the source with the higher priority.
    """
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
    """Return what a text may mention: every listed skill but copies, which are the same skill under another path.

    One that awaits trust and has lost its name has its handle alone.
    """
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
