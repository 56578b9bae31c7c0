"""The checks of `skillhub doctor`.

To add one, write a function from `Installation` to `CheckResult` in one of the modules and add it to `all_checks`.

library   roots, skills, trust, rules, locks, the audit and the index
machine   settings, the command on PATH, clients, files of the user, the sandbox and local models
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from skillhub_mcp.cli.open_hub import with_publication
from skillhub_mcp.errors import PolicyUnreadable, SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index.views import View
from skillhub_mcp.policy.access import Policy
from skillhub_mcp.settings import Settings, SettingSource
from skillhub_mcp.skills.snapshot import Problem


class Installation:
    """The settings with their sources, and the hub that they describe."""

    def __init__(self, settings: Settings, sources: Sequence[SettingSource], hub: SkillHub) -> None:
        self.settings = settings
        self.sources = sources
        self.hub = hub

    @cached_property
    def view(self) -> View:
        """The skills and their index, brought up to date."""
        return self.hub.refresh(waiting=True)

    @property
    def embedding_failure(self) -> str | None:
        """Why skills have no vectors; None if they have, or are to have none."""
        report = self.view.report
        return None if report is None else report.embedding_failure

    def policy(self) -> Policy | None:
        """Return what is served; None if a file of rules or choices cannot be read, which `rules` reports."""
        try:
            return self.hub.access.now()
        except PolicyUnreadable:
            return None


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one check found: with `problems` doctor exits with 1, `notes` are shown with --verbose only.

    `state` is a part of the first line, such as `113 skills served`. `details` are lines for --verbose, and `facts` the
    check's members of the JSON object.
    """

    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    state: str = ""
    details: tuple[str, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)


Checks = Mapping[str, Callable[[Installation], CheckResult]]


def all_checks() -> Checks:
    """Return the checks in the order of their findings: what concerns every skill before what concerns one."""
    from skillhub_mcp.cli.checks import library, machine

    return {
        "settings": machine.check_settings,
        "command": machine.check_command,
        "clients": machine.check_clients,
        "roots": library.check_roots,
        "models": machine.check_models,
        "index": library.check_index,
        "files": machine.check_files,
        "rules": library.check_rules,
        "sandbox": machine.check_sandbox,
        "trust": library.check_trust,
        "skills": library.check_skills,
        "audit": library.check_audit,
        "locks": library.check_locks,
    }


def examine(installation: Installation, *, on_start: Callable[[str], None]) -> Iterator[tuple[str, CheckResult]]:
    """Yield each check's name and result; an error that several checks meet is reported once."""
    failures = set()
    for name, look in all_checks().items():
        on_start(f"checking {name}")
        try:
            yield name, look(installation)
            continue
        except SkillHubError as error:
            named = with_publication(error, installation.settings)
            message, fix = named.message, named.hint or "correct this first: the check needs it"
        except OSError as error:
            message, fix = str(error), "make this readable to you"
        if message not in failures:
            yield name, CheckResult(problems=(Problem(f"the check of the {name}", f"failed: {message}", fix),))
        failures.add(message)
