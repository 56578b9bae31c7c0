"""The list of checks, and running them: each in a thread of its own, each failing alone."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from queue import SimpleQueue

from skillhub_mcp.cli.checks import (
    audit,
    clients,
    command,
    files,
    index,
    locks,
    models,
    published,
    roots,
    rules,
    sandbox,
    settings,
    skills,
    trust,
)
from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.cli.open_hub import with_publication
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.skills.problems import Problem

# In the order in which their findings are told: what concerns every skill before what concerns one.
CHECKS = (
    settings.CHECK,
    command.CHECK,
    clients.CHECK,
    roots.CHECK,
    models.CHECK,
    index.CHECK,
    files.CHECK,
    rules.CHECK,
    sandbox.CHECK,
    trust.CHECK,
    skills.CHECK,
    audit.CHECK,
    locks.CHECK,
    published.CHECK,
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

    `on_open` is told, such as `checking index, clients`, what is still open. Raises KeyboardInterrupt.
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
    told = []
    for one in examined:
        names = failed.pop(one.failure, []) if one.failure else [one.check.name]
        if len(names) > 1:
            about = f"the checks of the {', '.join(names[:-1])} and {names[-1]}"
            problems = tuple(replace(problem, subject=about) for problem in one.result.problems)
            told.append(replace(one, result=CheckResult(problems=problems)))
        else:
            told.append(one if names else replace(one, result=CheckResult()))
    return tuple(told)


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
