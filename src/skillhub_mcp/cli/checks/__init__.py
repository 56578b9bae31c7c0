"""The checks of `skillhub doctor`: what a check is, the list of them, and running them side by side.

To add one, write a function from `Installation` to `CheckResult` in one of the modules and add it to `all_checks`.

clients   the clients that SkillHub is registered with, each started as it would
library   roots, skills, trust, rules, locks, the audit, the index and publications
machine   settings, the command on PATH, files of the person, the sandbox and local models
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from queue import SimpleQueue

from skillhub_mcp.cli.open_hub import with_publication
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import PolicyUnreadable, SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index.views import View
from skillhub_mcp.policy.access import Policy
from skillhub_mcp.settings import Settings, SettingSource
from skillhub_mcp.skills.problems import Problem


class Installation:
    """The settings with their sources, and the hub that they describe. Safe to use from several threads."""

    def __init__(self, settings: Settings, sources: Sequence[SettingSource], hub: SkillHub) -> None:
        self.settings = settings
        self.sources = sources
        self.hub = hub
        self.home = expand_home("~")
        self._lock = threading.Lock()

    @property
    def view(self) -> View:
        """The skills and their index, brought up to date when the first check asks; the others wait meanwhile."""
        with self._lock:
            return self._view

    @cached_property
    def _view(self) -> View:
        return self.hub.refresh(waiting=True)

    @property
    def embedding_failure(self) -> str | None:
        """Why skills have no vectors; None where they have, or are to have none."""
        report = self.view.report
        return None if report is None else report.embedding_failure

    def policy(self) -> Policy | None:
        """Return what is served; None where a file of rules or choices cannot be read, of which `rules` tells."""
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


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what is checked, in a word, and the function that does it, in a thread."""

    name: str
    look: Callable[[Installation], CheckResult]


def all_checks() -> tuple[Check, ...]:
    """Return the checks in the order of their findings: what concerns every skill before what concerns one."""
    from skillhub_mcp.cli.checks import clients, library, machine

    return (
        Check("settings", machine.check_settings),
        Check("command", machine.check_command),
        Check("clients", clients.check_clients),
        Check("roots", library.check_roots),
        Check("models", machine.check_models),
        Check("index", library.check_index),
        Check("files", machine.check_files),
        Check("rules", library.check_rules),
        Check("sandbox", machine.check_sandbox),
        Check("trust", library.check_trust),
        Check("skills", library.check_skills),
        Check("audit", library.check_audit),
        Check("locks", library.check_locks),
        Check("published", library.check_published),
    )


@dataclass(frozen=True, slots=True)
class Examined:
    """A check with its result. `bug` is the traceback of one that failed as only a mistake of ours makes it fail.

    `failure` is the error with which it failed otherwise, whose problem the first of all that failed so has.
    """

    check: Check
    result: CheckResult
    bug: str = ""
    failure: str = ""


def examine(
    installation: Installation, checks: Sequence[Check], *, on_open: Callable[[str], None] = lambda _: None
) -> tuple[Examined, ...]:
    """Make all checks side by side and return their results in the same order.

    `on_open` gets what is still open, such as `checking index, clients`. Raises KeyboardInterrupt.
    """
    done: SimpleQueue[tuple[int, Examined]] = SimpleQueue()

    def make(number: int, check: Check) -> None:
        done.put((number, _made(check, installation)))

    for number, check in enumerate(checks):
        # A daemon, so that Ctrl-C does not wait for a check that waits for something else.
        threading.Thread(target=make, args=(number, check), name=f"check-{check.name}", daemon=True).start()
    results: dict[int, Examined] = {}
    while len(results) < len(checks):
        waiting = ", ".join(check.name for number, check in enumerate(checks) if number not in results)
        on_open(f"checking {waiting}")
        number, examined = done.get()
        results[number] = examined
    return _each_cause_once([results[number] for number in range(len(checks))])


def _each_cause_once(examined: Sequence[Examined]) -> tuple[Examined, ...]:
    """Return the same with one problem for all checks that failed with the same error."""
    failed: dict[str, list[str]] = {}
    for one in examined:
        if one.failure:
            failed.setdefault(one.failure, []).append(one.check.name)
    reported = []
    for one in examined:
        names = failed.pop(one.failure, []) if one.failure else [one.check.name]
        if len(names) > 1:
            about = f"the checks of the {', '.join(names[:-1])} and {names[-1]}"
            problems = tuple(replace(problem, subject=about) for problem in one.result.problems)
            reported.append(replace(one, result=CheckResult(problems=problems)))
        else:
            reported.append(one if names else replace(one, result=CheckResult()))
    return tuple(reported)


def _made(check: Check, installation: Installation) -> Examined:
    about = f"the check of the {check.name}"
    try:
        return Examined(check, check.look(installation))
    except SkillHubError as error:
        named = with_publication(error, installation.settings)
        fix = named.hint or "correct this first: the check needs it"
        problem = Problem(about, f"failed: {named.message}", fix)
        return Examined(check, CheckResult(problems=(problem,)), failure=named.message)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        what = f"failed: {error.strerror or error}{where}"
        return Examined(check, CheckResult(problems=(Problem(about, what, "make this readable to you"),)))
    except Exception as error:  # noqa: BLE001 - the outermost handler of a thread: the other checks tell theirs
        what = f"failed with a bug of ours, {type(error).__name__}"
        problem = Problem(about, what, "report it with the traceback below")
        return Examined(check, CheckResult(problems=(problem,)), traceback.format_exc())
