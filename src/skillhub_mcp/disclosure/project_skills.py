"""The skills of a project, and whose names they take, for the question whether to trust it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillhub_mcp.skills.model import Skill, Trust
from skillhub_mcp.skills.roots import SkillRoot, is_at_or_below
from skillhub_mcp.skills.snapshot import Refused, Snapshot


@dataclass(frozen=True, slots=True)
class ProjectSkill:
    """A project's skill, and the skills whose names it takes once the project is trusted.

    `outside` is its canonical directory if a link leads out of the project.
    """

    skill: Skill
    takes_from: tuple[Skill, ...]
    outside: str = ""


@dataclass(frozen=True, slots=True)
class ProjectPlace:
    """A directory of a project with skills. It cannot be trusted if `problem` says why it has no `digest`."""

    root: SkillRoot
    skills: tuple[ProjectSkill, ...]
    refused: tuple[Refused, ...]
    digest: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ProjectSkills:
    """The skills of a project, the highest priority first, and the names of skills from elsewhere."""

    project: str
    places: tuple[ProjectPlace, ...]
    own_names: tuple[str, ...] = ()

    @property
    def trust(self) -> Trust:
        """The trust in all of it: CHANGED if a place has changed, else AWAITED if one awaits it."""
        each = {place.root.trust for place in self.places}
        return next((trust for trust in (Trust.CHANGED, Trust.AWAITED, Trust.AGREED) if trust in each), Trust.OWN)

    @property
    def digests(self) -> Mapping[str, str]:
        """The digests of the places that can be trusted, by their paths."""
        return {place.root.path: place.digest for place in self.places if place.digest}


def project_skills_of(
    project: str,
    roots: Sequence[SkillRoot],
    snapshot: Snapshot,
    digests: Mapping[str, str],
    problems: Mapping[str, str] | None = None,
) -> ProjectSkills:
    """Return the project's skills in `snapshot`. `digests`, and the `problems` instead of some, are by root path."""
    own = [skill for skill in snapshot.everything if skill.trust is Trust.OWN]
    places = []
    for root in roots:
        skills = [skill for skill in snapshot.everything if skill.root == root.path]
        refused = tuple(one for one in snapshot.report.refused if one.root == root.path)
        if root.within == project and (skills or refused):
            skills.sort(key=lambda skill: (skill.name, skill.directory))
            named = tuple(
                ProjectSkill(skill, tuple(one for one in own if _names(one) & _names(skill)), _outside(skill, snapshot))
                for skill in skills
            )
            problem = (problems or {}).get(root.path, "")
            places.append(ProjectPlace(root, named, refused, digests.get(root.path, ""), problem))
    return ProjectSkills(project, tuple(places), tuple(sorted({skill.name for skill in own})))


def _outside(skill: Skill, snapshot: Snapshot) -> str:
    real = snapshot.real_directory(skill)
    return "" if is_at_or_below(real, snapshot.within(skill)) else real


def _names(skill: Skill) -> set[str]:
    return {skill.name, skill.alias} - {""}
