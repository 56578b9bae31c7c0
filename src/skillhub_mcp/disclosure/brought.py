"""What a project brings, as its person is shown it before they agree: its skills, and whose names they take. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillhub_mcp.skills.model import Skill, Trust
from skillhub_mcp.skills.roots import SkillRoot
from skillhub_mcp.skills.snapshot import Refused, Snapshot


@dataclass(frozen=True, slots=True)
class BroughtSkill:
    """A skill that a project brings, and those of the person or the hub whose names it takes once it is trusted."""

    skill: Skill
    takes_from: tuple[Skill, ...]


@dataclass(frozen=True, slots=True)
class BroughtPlace:
    """A directory of a project with skills: those that can be served by name, and those that are refused.

    `digest` is that of all of it, and empty where `problem` says why there is none: it cannot be agreed to.
    """

    root: SkillRoot
    skills: tuple[BroughtSkill, ...]
    refused: tuple[Refused, ...]
    digest: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Brought:
    """What the project at that root brings, the place with the highest priority first.

    `own_names` are the names of the skills that do not come from a project.
    """

    project: str
    places: tuple[BroughtPlace, ...]
    own_names: tuple[str, ...] = ()

    @property
    def trust(self) -> Trust:
        """The trust in all of it: CHANGED where a place has changed, else AWAITED where one awaits it."""
        each = {place.root.trust for place in self.places}
        return next((trust for trust in (Trust.CHANGED, Trust.AWAITED, Trust.AGREED) if trust in each), Trust.OWN)

    @property
    def digests(self) -> Mapping[str, str]:
        """The digests of the places that can be agreed to, by their paths."""
        return {place.root.path: place.digest for place in self.places if place.digest}


def brought_by(
    project: str, snapshot: Snapshot, digests: Mapping[str, str], problems: Mapping[str, str] | None = None
) -> Brought:
    """Return what the project brings with the roots of `snapshot`. Places without a SKILL.md are left out.

    `digests`, and the `problems` in place of some, are by the root's path.
    """
    own = [skill for skill in snapshot.everything if skill.trust is Trust.OWN]
    places = []
    for root in snapshot.report.roots:
        skills = [skill for skill in snapshot.everything if skill.root == root.path]
        refused = tuple(one for one in snapshot.report.refused if one.root == root.path)
        if root.within == project and (skills or refused):
            named = tuple(BroughtSkill(skill, _losing_to(skill, own)) for skill in sorted(skills, key=_by_name))
            problem = (problems or {}).get(root.path, "")
            places.append(BroughtPlace(root, named, refused, digests.get(root.path, ""), problem))
    return Brought(project, tuple(places), tuple(sorted({skill.name for skill in own})))


def _losing_to(skill: Skill, own: Sequence[Skill]) -> tuple[Skill, ...]:
    names = {skill.name, skill.alias} - {""}
    return tuple(one for one in own if names & {one.name, one.alias})


def _by_name(skill: Skill) -> tuple[str, str]:
    return skill.name, skill.directory
