"""The places and registries that the settings choose, a project's skills, and files beside the index."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from skillhub_mcp.chosen_roots import (
    plugins_of,
    project_of,
    project_trust,
    recorded_roots,
    roots_of,
    served_projects,
    trust_path,
)
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import RootsUnreadable, SkillUnverifiable
from skillhub_mcp.policy.access import Access
from skillhub_mcp.policy.files import change_trust
from skillhub_mcp.policy.recorded_roots import NO_RECORD
from skillhub_mcp.project import Project
from skillhub_mcp.settings import DEFAULT_SKILLS_DIR, Settings
from skillhub_mcp.skills.admission import REGISTRY_LENIENT, REGISTRY_STRICT, Admission
from skillhub_mcp.skills.model import Trust
from skillhub_mcp.skills.roots import Source, agent_context_roots, builtin_directory
from skillhub_mcp.skills.snapshot import Problem, Snapshot

if TYPE_CHECKING:
    from skillhub_mcp.disclosure.context.catalogue import Catalogues, Present
    from skillhub_mcp.disclosure.project_skills import ProjectSkills
    from skillhub_mcp.skills.places import Surroundings, UnsearchedPlace
    from skillhub_mcp.skills.registry import Registry


def surroundings_of(settings: Settings) -> Surroundings:
    """Return every place that may hold skills, searched or not. Reads no skill. Raises InvalidSetting."""
    from skillhub_mcp.skills.places import RootsChoice, Surroundings, known_places

    skills, project, home = settings.skills, project_of(settings), expand_home("~")
    try:
        recorded = recorded_roots()
    except RootsUnreadable:
        recorded = NO_RECORD
    places = known_places(
        project,
        home=home,
        hub=expand_home(DEFAULT_SKILLS_DIR),
        builtin=builtin_directory(),
        environment=os.environ,
        recorded=recorded.directories,
        recorded_in_project=recorded.of_project(project.root),
        plugins=plugins_of(project),
    )
    choice = RootsChoice(skills.roots, skills.dirs, words_given=skills.roots_given, dirs_given=skills.dirs_given)
    return Surroundings(places, choice, cwd=project.cwd)


def unsearched_places(settings: Settings, snapshot: Snapshot) -> tuple[UnsearchedPlace, ...]:
    """Return the places with skills outside the roots; the examples only if no skill is served and no root is set."""
    if settings.replica.read_only:
        return ()
    examples = not (snapshot.everything or settings.skills.dirs_given or settings.skills.roots_given)
    found = surroundings_of(settings).survey(snapshot.report.roots)[1]
    # What a client switched off is not missing.
    missing = [one for one in found if one.skills and not one.place.off]
    return tuple(one for one in missing if examples or one.place.source is not Source.BUILTIN)


def unsearched_problems(settings: Settings, snapshot: Snapshot) -> tuple[Problem, ...]:
    return tuple(one.as_problem() for one in unsearched_places(settings, snapshot))


def registry_admission(settings: Settings, *, lenient: bool = False) -> Admission:
    """Return the rules by which the registry admits skills, with the limits that `settings` give."""
    if lenient:
        return REGISTRY_LENIENT
    return replace(
        REGISTRY_STRICT,
        max_header_lines=settings.skills.registry_max_lines,
        max_line_characters=settings.skills.registry_max_line_characters,
    )


def make_registry(settings: Settings, *, lenient: bool = False) -> Registry:
    """Return the registry over the roots that `settings` choose. Raises InvalidSetting."""
    from skillhub_mcp.skills.registry import Registry

    roots = project_trust(settings).judged(roots_of(settings))
    return Registry(roots, admission=registry_admission(settings, lenient=lenient))


def make_catalogues(settings: Settings, access: Access, present: Present | None = None) -> Catalogues:
    """Return the agent-context catalogues, limited to what `access` allows; `present` returns what a hub serves."""
    from skillhub_mcp.disclosure.catalogue import Budget
    from skillhub_mcp.disclosure.context.catalogue import Catalogues

    def project_in(cwd: str) -> Project:
        skills = settings.skills.model_copy(update={"cwd": cwd or settings.skills.cwd})
        return project_of(settings.model_copy(update={"skills": skills}))

    return Catalogues(
        project_in,
        home=expand_home("~"),
        budget=Budget(settings.disclosure.catalogue_max_entries, settings.disclosure.catalogue_max_bytes),
        is_allowed=access.sees,
        enabled_in=lambda root: access.now(root).offers,
        judge=project_trust(settings).judged,
        reports_errors=access.sees_everything,
        present=present,
    )


def brought_in(settings: Settings, project_root: str = "") -> ProjectSkills:
    """Return the project's skills for the hub and the agent-context tools. Raises InvalidSetting.

    Of several projects, that with root `project_root`, else the first.
    """
    from skillhub_mcp.disclosure.project_skills import project_skills_of
    from skillhub_mcp.policy.project_trust import project_digest
    from skillhub_mcp.skills.scanner import read_snapshot

    first = project_of(settings)
    project = next((one for one in served_projects(settings) if one.root == project_root), first)
    context = agent_context_roots(project, home=expand_home("~"))
    roots = {root.path: root for root in (*(root for root in context if root.within), *roots_of(settings))}
    judged = project_trust(settings).judged(sorted(roots.values(), key=lambda root: not root.within))
    digests, problems = {}, {}
    for root in judged:
        if root.within:
            try:
                digests[root.path] = project_digest(root)
            except (SkillUnverifiable, OSError) as error:
                unread = isinstance(error, OSError) and f"{error.filename!r} cannot be read: {error.strerror}"
                problems[root.path] = unread or str(error)
    # As once it is trusted: with what its links lead to.
    snapshot = read_snapshot(tuple(replace(root, trust=Trust.AGREED) if root.within else root for root in judged))
    return project_skills_of(project.root, judged, snapshot, digests, problems)


def agree_to(brought: ProjectSkills) -> None:
    """Record that the user trusts the project's skills as they were shown. Raises what `change_trust` raises."""
    change_trust(trust_path(), lambda record: record.agreed(brought.project, brought.digests))


def reviews_path() -> str:
    """Return the path of the user's reviews of audit findings."""
    return expand_home("~/.skillhub/reviews.json")


def mirror_directory(settings: Settings) -> str:
    """Return the directory of the mirror of the publication that `settings` name: each publication has its own."""
    name = hashlib.sha256(settings.index.db_path.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return os.path.join(settings.replica.mirror_dir, name)


def beside_index(settings: Settings, name: str) -> str:
    """Return the path of a file or directory beside the index."""
    directory = mirror_directory(settings) if settings.replica.read_only else os.path.dirname(settings.index.db_path)
    return os.path.join(directory, name)
