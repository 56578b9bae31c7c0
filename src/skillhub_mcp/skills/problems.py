"""Problems with the skills that a scan found: the subject, what is wrong with it, and the fix. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.snapshot import Refused, ScanReport, Shadowed

_IN_A_SENTENCE = 3


@dataclass(frozen=True, slots=True)
class Problem:
    """What is affected, what is wrong, and the fix. Callers who may not see paths get `remote`, unless `only_here`."""

    subject: str
    message: str
    fix: str
    remote: str = field(default="", kw_only=True)
    only_here: bool = field(default=False, kw_only=True)

    def sentence(self, *, with_paths: bool = True) -> str:
        """Return the problem in one sentence."""
        if self.remote and not with_paths:
            return f"{self.remote} {self.message}"
        return f"{self.subject} {self.message}; {self.fix}"


def sentences(problems: Iterable[Problem], *, with_paths: bool = True) -> str:
    """Return the first three problems as sentences, and how many more there are."""
    texts = [one.sentence(with_paths=with_paths) for one in problems if with_paths or not one.only_here]
    shown = list(dict.fromkeys(texts[:_IN_A_SENTENCE]))
    more = len(texts) - _IN_A_SENTENCE
    rest = [f"{more:,} more: `skillhub doctor` lists them"] if more > 0 else []
    return ". ".join((*shown, *rest))


def root_problems(report: ScanReport) -> tuple[Problem, ...]:
    """Return the directories that could not be searched."""
    own = {root.path for root in report.roots}
    return tuple(
        Problem(
            one.path,
            one.reason,
            one.fix,
            remote="A skills directory" if one.path in own else f"The directory {os.path.basename(one.path)!r}",
        )
        for one in report.problems
    )


def refusal_problems(report: ScanReport) -> tuple[Problem, ...]:
    """Return the skills that are refused, each with the rule and the line."""
    return tuple(refusal(one) for one in report.refused)


def refusal(refused: Refused) -> Problem:
    """Return why a skill is refused."""
    reason = refused.reason
    return Problem(
        os.path.join(refused.directory, SKILL_FILE) + (f":{reason.line}" if reason.line else ""),
        f"is refused: {reason.message} ({reason.rule})",
        reason.hint or "correct the file",
        remote=f"The folder {os.path.basename(refused.directory)!r}",
    )


def shadowing(lost: Shadowed) -> Problem:
    """Return which skill took the name of another, and why."""
    return Problem(
        lost.skill.directory,
        f"lost the name {lost.skill.name!r} to {lost.winner.directory}: {lost.why.value}",
        "rename one of the two, or load it by its path",
        remote=f"The folder {os.path.basename(lost.skill.directory)!r}",
    )
