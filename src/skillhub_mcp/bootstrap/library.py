"""The places, registries, rules, audit and locks that the settings choose, and problems with them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING

from skillhub_mcp._util.file_modes import changeable_by_others
from skillhub_mcp.chosen_roots import (
    lock_option,
    plugins_of,
    project_of,
    project_trust,
    project_while_serving,
    roots_of,
    served_projects,
    usable_roots,
)
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import ConfirmationRequired, PolicyUnreadable, SkillUnverifiable
from skillhub_mcp.policy.access import Access, RuleFiles
from skillhub_mcp.policy.access_tokens import Tokens
from skillhub_mcp.policy.choices import NO_CHOICES
from skillhub_mcp.policy.files import CHOICES, PROJECT_RULES, REVIEWS, ROOTS, RULES, TOKENS, TRUST, change_rules
from skillhub_mcp.policy.project_trust import RULES_FILE, project_digest
from skillhub_mcp.policy.reviews import NO_REVIEWS
from skillhub_mcp.policy.rules import ListedRule, PermissionRule
from skillhub_mcp.policy.tool_actions import Action, rule_tool
from skillhub_mcp.policy.trust import TrustMode
from skillhub_mcp.policy.unknown_names import KnownNames, filter_problems, rules_problems
from skillhub_mcp.policy.visibility import Visibility
from skillhub_mcp.project import Project
from skillhub_mcp.settings import DEFAULT_SKILLS_DIR, DEFAULT_USAGE_LOG, Settings
from skillhub_mcp.skills.admission import AGENT_CONTEXT, REGISTRY_LENIENT, REGISTRY_STRICT, Admission
from skillhub_mcp.skills.discovery import FilesOf, own_directory
from skillhub_mcp.skills.model import Problem, Skill, Trust
from skillhub_mcp.skills.roots import Source, agent_context_roots, builtin_directory
from skillhub_mcp.skills.scanner import read_snapshot
from skillhub_mcp.skills.snapshot import Snapshot

if TYPE_CHECKING:
    from skillhub_mcp.auditing.auditor import Auditor
    from skillhub_mcp.disclosure.context.catalogue import Catalogues, Present
    from skillhub_mcp.disclosure.project_skills import ProjectSkills
    from skillhub_mcp.locks.lock_verifier import LockVerifier
    from skillhub_mcp.skills.places import Surroundings, UnsearchedPlace


def surroundings_of(settings: Settings) -> Surroundings:
    """Return every place that may hold skills, searched or not. Reads no skill. Raises InvalidSetting."""
    from skillhub_mcp.skills.places import RootsChoice, Surroundings, known_places

    skills, project, home = settings.skills, project_of(settings), expand_home("~")
    recorded = usable_roots()
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
    """Record that the user trusts the project's skills as they were shown. Raises what `Record.change` raises."""
    TRUST.change(TRUST.path, lambda record: record.agreed(brought.project, brought.digests))


def mirror_directory(settings: Settings) -> str:
    """Return the directory of the mirror of the publication that `settings` name: each publication has its own."""
    name = hashlib.sha256(settings.index.db_path.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return os.path.join(settings.replica.mirror_dir, name)


def beside_index(settings: Settings, name: str) -> str:
    """Return the path of a file or directory beside the index."""
    directory = mirror_directory(settings) if settings.replica.read_only else os.path.dirname(settings.index.db_path)
    return os.path.join(directory, name)


def every_skill(settings: Settings, snapshot: Snapshot) -> tuple[Skill, ...]:
    """Return the skills that rules, tokens and filters can name: the hub's and the agent-context tools'."""
    found = {skill.directory: skill for skill in snapshot.everything}
    if settings.disclosure.skills_enabled and not settings.replica.read_only:
        chosen = agent_context_roots(project_while_serving(settings), home=expand_home("~"))
        if snapshot.below(chosen) is None:
            context = read_snapshot(project_trust(settings).judged(chosen), AGENT_CONTEXT).everything
            found = {skill.directory: skill for skill in context} | found
    return tuple(found[directory] for directory in sorted(found))


def name_problems(settings: Settings, snapshot: Snapshot) -> tuple[Problem, ...]:
    """Return the unknown names in the filter, rules and tokens. Raises PolicyUnreadable."""
    visibility = _visibility(settings)
    rules = rule_files(project_while_serving(settings).root).usable()
    path = settings.http.tokens_file
    tokens = (TOKENS.file(path).read() if path else None) or Tokens()
    named = any(one.rule.skill_name for file in rules for one in file.rules.listed())
    if not (visibility.limits or named or any(token.visibility.limits for token in tokens.tokens)):
        return ()
    known = KnownNames(every_skill(settings, snapshot))
    if not known.skills:
        return ()
    problems = [*filter_problems(known, visibility, visibility.setting)]
    for file in rules:
        problems += rules_problems(known, file.path, file.rules, changeable=not file.of_project)
    for token in tokens.tokens:
        problems += filter_problems(known, token.visibility, f"the token {token.name!r} in {path}", of_token=True)
    return tuple(problems)


def exposed_files(settings: Settings) -> tuple[Problem, ...]:
    """Return the user's files that others may write, which are not used."""
    named = (
        ROOTS.path,
        TRUST.path,
        REVIEWS.path,
        RULES.path,
        CHOICES.path,
        settings.http.tokens_file,
        settings.execution.hooks,
        settings.observability.usage_log or expand_home(DEFAULT_USAGE_LOG),
    )
    exposures = {path: changeable_by_others(path) for path in named if path}
    return tuple(Problem(path, f"is not used: {one.reason}", one.fix) for path, one in exposures.items() if one)


def make_access(
    settings: Settings, *, asks: bool, auditor: Auditor | None = None, kept: Callable[[], LockVerifier] | None = None
) -> Access:
    """Return what may be loaded and run; `asks` means that the user's consent can be asked for. Reads no files yet."""

    @lru_cache(maxsize=1)
    def project_root(_: tuple[str, ...]) -> str:
        return project_while_serving(settings).root

    no_locks = settings.policy.frozen == "0" or settings.replica.read_only
    return Access(
        _visibility(settings),
        project=lambda: project_root(settings.client.paths),
        choices=CHOICES.file(),
        rule_files=rule_files,
        asks=asks,
        trust=TrustMode(settings.policy.trust),
        audit=auditor if auditor is not None and auditor.blocks else None,
        locks=None if no_locks else kept() if kept else lock_verifier(settings, for_shell=True),
    )


def lock_verifier(settings: Settings, *, for_shell: bool) -> LockVerifier:
    """Return what compares skills with their locks. Reads no files yet."""
    from skillhub_mcp.locks.lock_verifier import LockVerifier

    # Clients of a server see no path of its machine.
    option_of = cache(partial(lock_option, settings=settings, with_paths=for_shell))
    return LockVerifier(only=settings.policy.frozen == "only", option_of=option_of)


def make_auditor(settings: Settings, *, files_of: FilesOf = own_directory) -> Auditor | None:
    """Return the audit of a hub's skills, or None if it is off. Reads no files yet."""
    if settings.policy.audit == "off":
        return None
    from skillhub_mcp.auditing.auditor import Auditor
    from skillhub_mcp.auditing.kept import KEPT_FILE

    reviews = REVIEWS.file()

    def accepted() -> dict[str, frozenset[str]]:
        # Without readable reviews nothing is accepted; `skillhub audit` reports the reason.
        with suppress(PolicyUnreadable):
            found = reviews.read() or NO_REVIEWS
            return {digest: review.rules for digest, review in found.by_digest.items()}
        return {}

    blocks = settings.policy.audit == "block"
    return Auditor(beside_index(settings, KEPT_FILE), accepted=accepted, blocks=blocks, files_of=files_of)


def rule_files(project_root: str) -> RuleFiles:
    """Return the files of rules: the user's own and the project's."""
    own = RULES.file()
    foreign = os.path.join(project_root, RULES_FILE)
    if os.path.realpath(foreign) == os.path.realpath(own.path):
        return RuleFiles(own)
    return RuleFiles(own, PROJECT_RULES.file(foreign, within=project_root))


def _visibility(settings: Settings) -> Visibility:
    return Visibility(settings.policy.enabled_skills, settings.policy.enabled_categories)


def may_be_sent(settings: Settings) -> Callable[[Skill], bool]:
    """Return whether a skill may be sent to a provider; one that a filter or choice turns off may not."""
    visibility, project = _visibility(settings), project_while_serving(settings).root
    try:
        choices = CHOICES.file().read() or NO_CHOICES
    except PolicyUnreadable:
        return lambda _: False
    return lambda skill: visibility.allows(skill) and not choices.is_off(skill, project=project)


def remember_rule(act: Action, agreed: ConfirmationRequired) -> None:
    """Add a rule that allows `act` as the user agreed to it, for these files. Raises PolicyUnreadable."""
    tool, digest = rule_tool(act), agreed.digest or None
    rule = PermissionRule(tool, agreed.rule_name, digest, network=agreed.network, packages=bool(agreed.packages))
    change_rules(RULES.path, put=[ListedRule("allow", rule)])
