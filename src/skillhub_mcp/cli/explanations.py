"""What `skillhub why` prints: an explanation and where a search puts the skill, as text and as JSON values."""

from __future__ import annotations

import os
from dataclasses import asdict

from skillhub_mcp.disclosure.why import Account, Cause, Explanation
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.search.rank_explanation import LeftOut, RankExplanation, Stand


def explanation_json(explanation: Explanation, standing: RankExplanation | None) -> dict[str, object]:
    """Return it as JSON values."""
    return {
        "asked": explanation.asked,
        "accounts": [
            {
                "verdict": account.verdict.value,
                "name": account.name or None,
                "handle": account.handle or None,
                "source": account.source,
                "path": account.directory,
                "causes": [asdict(cause) for cause in account.causes],
            }
            for account in explanation.accounts
        ],
        "unknown": [asdict(cause) for cause in explanation.unknown],
        "near": [{"name": one.name, "verdict": one.verdict.value} for one in explanation.near],
        "search": None if standing is None else _standing_json(standing),
    }


def _standing_json(standing: RankExplanation) -> dict[str, object]:
    own, first = standing.own, standing.first
    return {
        "task": standing.task,
        "rank": standing.rank,
        "hits": standing.hits,
        "score": round(own.score, 4),
        "left_out": None if standing.left_out is None else standing.left_out.value,
        "first": None if first is None else {"name": first.handle, "score": round(first.score, 4)},
        "matched": [one.asked for one in own.parts],
        "differences": [asdict(one) | {"message": one.describe()} for one in standing.differences],
        "nearness": own.nearness,
        "first_nearness": None if first is None else first.nearness,
    }


def explanation_text(explanation: Explanation, standing: RankExplanation | None, *, searching: bool) -> str:
    """Return it as text. `searching` where a task was given, of which there may be no `standing`."""
    lines: list[str] = []
    if not explanation.accounts:
        lines.append(f"{in_line(explanation.asked)} is not known")
        lines += _cause_lines(explanation.unknown)
        if explanation.near:
            near = ", ".join(f"{one.name} ({one.verdict.value})" for one in explanation.near)
            lines.append(f"  like it: {in_line(near)}")
        return "\n".join(lines)
    if standing is not None:
        lines += _standing_lines(standing, explanation.accounts[0])
    elif searching:
        lines.append("A search does not find it, as it is not served to models:")
    for account in explanation.accounts:
        name = account.handle or os.path.basename(account.directory)
        source = f" ({account.source})" if account.source else ""
        lines.append(f"{in_line(name)} is {account.verdict.value}: {in_line(account.directory)}{source}")
        lines += _cause_lines(account.causes)
    return "\n".join(lines)


def _cause_lines(causes: tuple[Cause, ...]) -> list[str]:
    lines = []
    for cause in causes:
        where = f"{cause.path}:{cause.line}" if cause.line else cause.path
        line = f"{where}{': ' if where else ''}{cause.message}{'; ' if cause.fix else ''}{cause.fix}"
        lines.append(f"  {in_line(line)}")
    return lines


def _standing_lines(standing: RankExplanation, account: Account) -> list[str]:
    name, hits = in_line(account.handle), f"{standing.hits:,} hits for {standing.task!r}"
    if standing.rank is None:
        why = "" if standing.left_out is None else f": {standing.left_out.value}"
        lines = [f"{name} is not among the {hits}{why}"]
    elif standing.rank == 1:
        near_miss = "" if standing.confident else ", a near miss: nothing fits well"
        lines = [f"{name} is the first of {hits}, {standing.own.score:.2f}{near_miss}"]
    else:
        lines = [f"{name} is number {standing.rank:,} of {hits}, {standing.own.score:.2f}"]
        lines += [] if standing.left_out is None else [f"  it is not shown: {standing.left_out.value}"]
    if standing.rank != 1 and standing.first is not None:
        lines += _first_lines(standing, standing.first)
    if standing.own.parts:
        lines.append(f"  of the task it has: {in_line(', '.join(one.asked for one in standing.own.parts))}")
    return lines


def _first_lines(standing: RankExplanation, first: Stand) -> list[str]:
    """Return what the first hit is, and what it has that this skill has not."""
    reasons = ["its name is the task, and such a skill comes first"] if standing.named else []
    reasons += [one.describe() for one in standing.differences]
    reasons += _nearness(standing.own.nearness, first.nearness)
    if not reasons and standing.left_out is not LeftOut.COPY:
        reasons = ["both have the same words; the first has them more often, or in a shorter text"]
    return [f"  {in_line(line)}" for line in (f"the first is {first.handle}, {first.score:.2f}", *reasons)]


def _nearness(own: float | None, first: float | None) -> list[str]:
    if own is None or first is None or first <= own:
        return []
    return [f"the first is nearer to it in meaning: {first:.2f}, this one {own:.2f}"]
