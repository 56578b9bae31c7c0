"""The project and the roots that the settings choose. Apart from `bootstrap`, so that shell completion starts fast."""

from __future__ import annotations

import logging
import os
import shlex
from contextlib import suppress
from dataclasses import replace

from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidSetting, PolicyUnreadable
from skillhub_mcp.policy.files import ROOTS, TRUST
from skillhub_mcp.policy.project_trust import ProjectTrust
from skillhub_mcp.policy.recorded_roots import NO_RECORD, RecordedRoots
from skillhub_mcp.policy.trust import TrustMode, TrustRecord
from skillhub_mcp.project import Project, find_project, is_no_project
from skillhub_mcp.settings import DEFAULT_SKILLS_DIR, Settings
from skillhub_mcp.skills.model import Problem
from skillhub_mcp.skills.plugins import Plugin, installed_plugins
from skillhub_mcp.skills.roots import AGENTS_SKILLS, SkillRoot, builtin_directory, choose_roots

log = logging.getLogger(__name__)


def recorded_roots() -> RecordedRoots:
    """Return what `skillhub roots add` recorded. Raises PolicyUnreadable."""
    return ROOTS.file().read() or NO_RECORD


def usable_roots() -> RecordedRoots:
    """Return what `skillhub roots add` recorded, nothing if it cannot be used."""
    with suppress(PolicyUnreadable):
        return recorded_roots()
    return NO_RECORD


def recorded_roots_problem() -> Problem | None:
    """Return why the recorded roots cannot be used, or None."""
    try:
        recorded_roots()
    except PolicyUnreadable as error:
        return Problem(error.path, error.message.removeprefix(f"{error.what} "), error.fix)
    return None


def roots_of(settings: Settings) -> tuple[SkillRoot, ...]:
    """Return the roots that `settings` choose and those recorded, the highest priority first. Raises InvalidSetting."""
    skills, project, others = settings.skills, project_of(settings), served_projects(settings)[1:]
    recorded = usable_roots()
    places = skills.roots if skills.dirs_given or skills.roots_given else (*skills.roots, *recorded.places)
    installed = plugins_of(project) if "plugins" in places else ()
    plugins = {path: one.name for one in installed if not one.off for path in one.directories}
    return choose_roots(
        places,
        project=project,
        others=others,
        home=expand_home("~"),
        hub=skills.dirs,
        hub_given=skills.dirs != (expand_home(DEFAULT_SKILLS_DIR),),
        builtin=builtin_directory(),
        recorded=() if skills.dirs_given else recorded.directories,
        recorded_in_project=[path for one in (project, *others) for path in recorded.of_project(one.root)],
        plugins=plugins,
    )


def plugins_of(project: Project) -> tuple[Plugin, ...]:
    """Return the plugins that the clients of this machine have in a project."""
    return installed_plugins(project, home=expand_home("~"), environment=os.environ)


def project_trust(settings: Settings) -> ProjectTrust:
    """Return what says which roots await trust. Reads no file yet."""
    return ProjectTrust(TrustMode(settings.policy.trust), TRUST.file())


class RootsFollower:
    """Returns the roots each time that a record or the client has changed them, or the trust in them."""

    def __init__(self, settings: Settings, roots: tuple[SkillRoot, ...], trust: ProjectTrust) -> None:
        self._settings = settings
        self._roots = roots
        self._trust = trust
        self._agreements: TrustRecord | None = None

    def __call__(self) -> tuple[SkillRoot, ...] | None:
        agreements, before = self._trust.record(), self._agreements
        self._agreements = agreements
        try:
            recorded_roots()
            roots = roots_of(self._settings)
        except (PolicyUnreadable, InvalidSetting) as error:
            # `skillhub roots` and `skillhub doctor` report it.
            log.debug("The roots stay as they are: %s", error.message)
            roots = self._roots
        if list(map(_identity, roots)) != list(map(_identity, self._roots)):
            log.info("The roots have changed: %s are searched", ", ".join(root.path for root in roots))
            self._roots = roots
            return roots
        return self._roots if before is not None and agreements is not before else None


def _identity(root: SkillRoot) -> tuple[object, ...]:
    # A scan looks up by itself where the links lead.
    return root.path, root.source, root.within, root.plugin


def lock_option(lock_path: str, settings: Settings, *, with_paths: bool = True) -> str:
    """Return the option that selects that lock's library, as typed; empty if none or only a path selects it."""
    place = os.path.realpath(os.path.dirname(lock_path))
    if place == os.path.realpath(project_while_serving(settings).root):
        return "--project"
    if place == os.path.realpath(expand_home(os.path.join("~", AGENTS_SKILLS))):
        return "--user"
    if not with_paths or place == os.path.realpath(expand_home(settings.skills.dirs[0])):
        return ""
    return f"--skills-dir {shlex.quote(os.path.dirname(lock_path))}"


def project_of(settings: Settings) -> Project:
    """Return the project of `settings` or of the working directory. Raises InvalidSetting for a missing directory."""
    if settings.skills.cwd and not os.path.isdir(expand_home(settings.skills.cwd)):
        raise InvalidSetting("SKILLHUB_CWD", settings.skills.cwd, "is not a directory")
    project = project_while_serving(settings)
    if settings.skills.project_root and not os.path.isdir(project.root):
        root = settings.skills.project_root
        raise InvalidSetting("SKILLHUB_PROJECT_ROOT", root, "is not a directory", hint="correct it, or unset it")
    return project


def project_while_serving(settings: Settings) -> Project:
    """Return the same for a server, which continues if a directory was removed."""
    return served_projects(settings)[0]


def served_projects(settings: Settings) -> tuple[Project, ...]:
    """Return the projects of a server: several if its client works in several directories.

    Rules, choices and AGENTS.md are those of the first.
    """
    skills, home = settings.skills, expand_home("~")
    named = names_project(settings)
    directories = () if named else settings.client.paths
    found = [
        find_project(cwd, root=skills.project_root, markers=skills.markers, home=home)
        for cwd in directories or (expand_home(skills.cwd) or _working_directory(home),)
    ]
    projects = [one for one in found if named or not is_no_project(one.root, home=home)]
    return tuple(projects) or (replace(found[0], chain=(), exists=False),)


def names_project(settings: Settings) -> bool:
    """Whether a setting names the project, so that no client does."""
    return bool(settings.skills.cwd or settings.skills.project_root)


def _working_directory(home: str) -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        # It was deleted, so it has no skills; the user's own are still there.
        return home
