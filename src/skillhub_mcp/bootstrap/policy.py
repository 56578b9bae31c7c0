"""Rules, choices, the audit and locks that the settings name, and problems with them."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING

from skillhub_mcp._util.file_modes import changeable_by_others, readable_by_others
from skillhub_mcp.bootstrap.library import beside_index, reviews_path
from skillhub_mcp.chosen_roots import (
    choices_path,
    lock_option,
    project_trust,
    project_while_serving,
    roots_path,
    trust_path,
)
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import ConfirmationRequired, PolicyUnreadable
from skillhub_mcp.policy.access import Access, RuleFiles
from skillhub_mcp.policy.access_tokens import Tokens
from skillhub_mcp.policy.choices import NO_CHOICES
from skillhub_mcp.policy.files import add_rule, choices_file, project_rules_file, reviews_file, rules_file, tokens_file
from skillhub_mcp.policy.project_trust import RULES_FILE
from skillhub_mcp.policy.rules import PermissionRule
from skillhub_mcp.policy.tool_actions import Action, rule_tool
from skillhub_mcp.policy.trust import TrustMode
from skillhub_mcp.policy.unknown_names import KnownNames, rules_problems, server_filter_problems, tokens_problems
from skillhub_mcp.policy.visibility import Visibility
from skillhub_mcp.settings import DEFAULT_USAGE_LOG, Settings
from skillhub_mcp.skills.admission import AGENT_CONTEXT
from skillhub_mcp.skills.discovery import FilesOf, own_directory
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.roots import agent_context_roots
from skillhub_mcp.skills.snapshot import Problem, Snapshot

if TYPE_CHECKING:
    from skillhub_mcp.auditing.auditor import Auditor
    from skillhub_mcp.locks.lock_verifier import LockVerifier
    from skillhub_mcp.policy.reviews import Reviews


def every_skill(settings: Settings, snapshot: Snapshot) -> tuple[Skill, ...]:
    """Return the skills that rules, tokens and filters can name: the hub's and the agent-context tools'."""
    from skillhub_mcp.skills.scanner import read_snapshot

    found = {skill.directory: skill for skill in snapshot.everything}
    if settings.disclosure.skills_enabled and not settings.replica.read_only:
        chosen = agent_context_roots(project_while_serving(settings), home=expand_home("~"))
        if snapshot.below(chosen) is None:
            context = read_snapshot(project_trust(settings).judged(chosen), AGENT_CONTEXT).everything
            found = {skill.directory: skill for skill in context} | found
    return tuple(found[directory] for directory in sorted(found))


def name_problems(settings: Settings, snapshot: Snapshot) -> tuple[Problem, ...]:
    """Return the unknown names in the filter, rules and tokens. Raises PolicyUnreadable and TokensUnreadable."""
    visibility = _visibility(settings)
    rules = rule_files(project_while_serving(settings).root).usable()
    path = settings.http.tokens_file
    tokens = (tokens_file(path, required=False).read() if path else None) or Tokens()
    named = any(one.rule.skill_name for file in rules for one in file.rules.listed())
    if not (visibility.limits or named or any(token.visibility.limits for token in tokens.tokens)):
        return ()
    known = KnownNames(every_skill(settings, snapshot))
    if not known.skills:
        return ()
    problems = [*server_filter_problems(known, visibility, ("SKILLHUB_ENABLED_SKILLS", "SKILLHUB_ENABLED_CATEGORIES"))]
    for file in rules:
        problems += rules_problems(known, file.path, file.rules, changeable=not file.of_project)
    return (*problems, *tokens_problems(known, path, tokens))


def exposed_files(settings: Settings) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """Return the user's files that others may write, which are not used, and those that others may read."""
    named = (
        roots_path(),
        trust_path(),
        reviews_path(),
        rule_files("").own.path,
        choices_path(),
        settings.http.tokens_file,
        settings.execution.hooks,
        settings.observability.usage_log or expand_home(DEFAULT_USAGE_LOG),
    )
    changeable, readable = [], []
    for path in dict.fromkeys(filter(None, named)):
        # A file that cannot be examined is reported where it is used.
        with suppress(OSError):
            if found := changeable_by_others(path):
                changeable.append(Problem(path, f"is not used: {found.reason}", found.fix))
            elif found := readable_by_others(path):
                readable.append(Problem(path, found.reason, found.fix))
    return tuple(changeable), tuple(readable)


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
        choices=choices_file(choices_path()),
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

    reviews = reviews_file(reviews_path())

    def acceptance() -> Reviews | None:
        # Without readable reviews nothing is accepted; `skillhub audit` reports the reason.
        with suppress(PolicyUnreadable):
            found = reviews.read()
            return found if found and found.by_digest else None
        return None

    blocks = settings.policy.audit == "block"
    return Auditor(beside_index(settings, KEPT_FILE), acceptance=acceptance, blocks=blocks, files_of=files_of)


def rule_files(project_root: str) -> RuleFiles:
    """Return the files of rules: the user's own and the project's."""
    own = rules_file(expand_home("~/.skillhub/permissions.json"))
    foreign = os.path.join(project_root, RULES_FILE)
    if os.path.realpath(foreign) == os.path.realpath(own.path):
        return RuleFiles(own)
    return RuleFiles(own, project_rules_file(foreign, root=project_root))


def _visibility(settings: Settings) -> Visibility:
    return Visibility(settings.policy.enabled_skills, settings.policy.enabled_categories)


def may_be_sent(settings: Settings) -> Callable[[Skill], bool]:
    """Return whether a skill may be sent to a provider; one that a filter or choice turns off may not."""
    visibility, project = _visibility(settings), project_while_serving(settings).root
    try:
        choices = choices_file(choices_path()).read() or NO_CHOICES
    except PolicyUnreadable:
        return lambda _: False
    return lambda skill: visibility.allows(skill) and not choices.is_off(skill, project=project)


def remember_rule(act: Action, agreed: ConfirmationRequired) -> None:
    """Add a rule that allows `act` as the user agreed to it, for these files. Raises PolicyUnreadable."""
    tool, digest = rule_tool(act), agreed.digest or None
    rule = PermissionRule(tool, agreed.rule_name, digest, network=agreed.network, packages=bool(agreed.packages))
    add_rule(rule_files("").own.path, "allow", rule)
