"""What rules, filters and tokens name that is not there, and why nothing is served where nothing is."""

from __future__ import annotations

from skillhub_mcp.bootstrap.policy import name_problems
from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.errors import CLOSE_TO_OTHERS, PolicyUnreadable
from skillhub_mcp.policy.files import tokens_file
from skillhub_mcp.skills.problems import Problem, refusal_problems, root_problems


def check_rules(installation: Installation) -> CheckResult:
    """Return the names that nothing has, the file that cannot be read, and the causes of an empty hub."""
    hub, snapshot = installation.hub, installation.view.snapshot
    path = installation.settings.http.tokens_file
    try:
        if path:
            # Where it is missing a server over HTTP does not start; one over stdio does.
            tokens_file(path).read()
        named = name_problems(installation.settings, snapshot)
        if hub.skills():
            return CheckResult(problems=named)
        # What it says of directories, refusals and misspelt filters is told already.
        told = {one.subject for one in (*named, *root_problems(snapshot.report), *refusal_problems(snapshot.report))}
        causes = hub.why_nothing(for_models=False).causes
    except PolicyUnreadable as error:
        if error.fix == CLOSE_TO_OTHERS:
            # The check of the files says so, with the command that mends it.
            return CheckResult()
        return CheckResult(problems=(Problem(error.path, error.message, error.hint or "fix the file"),))
    # Of skills elsewhere the roots tell.
    causes = tuple(cause for cause in causes if cause.subject not in told and not cause.only_here)
    return CheckResult(problems=(*named, *causes))


CHECK = Check("rules", check_rules)
