"""What awaits trust: the project's skills that their person has not agreed to, and its rules that cannot be read."""

from __future__ import annotations

from collections import Counter

from skillhub_mcp.chosen_roots import trust_path
from skillhub_mcp.cli.checks.check import Check, CheckResult
from skillhub_mcp.cli.checks.installation import Installation
from skillhub_mcp.cli.output import plural
from skillhub_mcp.errors import CLOSE_TO_OTHERS, TrustUnreadable
from skillhub_mcp.policy.files import trust_file
from skillhub_mcp.skills.model import Trust
from skillhub_mcp.skills.places import shell_path
from skillhub_mcp.skills.problems import Problem


def check_trust(installation: Installation) -> CheckResult:
    """Return the projects that await trust, and the files that keep what they say from being used."""
    snapshot, policy = installation.view.snapshot, installation.policy()
    problems = []
    try:
        trust_file(trust_path()).read()
    except TrustUnreadable as error:
        # Of what others may write the check of files tells, with the command.
        if error.fix != CLOSE_TO_OTHERS:
            problems.append(Problem(error.path, f"cannot be used: {error.reason}", error.fix))
    if policy is not None and policy.unreadable is not None:
        error_of_project = policy.unreadable.as_error()
        problems.append(
            Problem(policy.unreadable.path, f"cannot be used: {policy.unreadable.reason}", error_of_project.fix)
        )
    counts = Counter(skill.root for skill in snapshot.everything if skill.awaits_trust)
    awaiting = [root for root in snapshot.report.roots if counts[root.path]]
    return CheckResult(
        problems=tuple(problems),
        warnings=tuple(
            Problem(
                root.path,
                f"{_STATES[root.trust]} ({plural(counts[root.path], 'skill')}): they take no name of yours and are not "
                "pinned",
                f"`skillhub trust {shell_path(root.within, home=installation.home)}` shows what the project brings",
            )
            for root in awaiting
        ),
        facts={"awaiting_trust": [{"path": root.path, "trust": root.trust.value} for root in awaiting]},
    )


_STATES = {Trust.AWAITED: "awaits trust", Trust.CHANGED: "has changed since you trusted it"}

CHECK = Check("trust", check_trust)
