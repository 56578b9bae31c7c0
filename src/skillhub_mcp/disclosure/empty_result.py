"""Explain why a list or a search is empty, with a fix. A caller with a filter learns nothing beyond it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skillhub_mcp._util.wording import plural
from skillhub_mcp.index.filter import Filter
from skillhub_mcp.policy.access import Availability, Policy
from skillhub_mcp.project import Project
from skillhub_mcp.skills.model import Problem, Skill
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.names import fold_name, near_names
from skillhub_mcp.skills.roots import Source
from skillhub_mcp.skills.snapshot import ScanReport, Snapshot

_LISTED = 12
_FIRST_SKILL = "put a folder with a SKILL.md there, as `skillhub add SOURCE` and `skillhub new NAME` do"


@dataclass(frozen=True, slots=True)
class EmptyResult:
    """The causes, at least one. A `mistake` is something to correct: a setting, a file, or the given filter."""

    causes: tuple[Problem, ...]
    mistake: bool


def why_nothing(
    snapshot: Snapshot,
    policy: Policy,
    *,
    category: str | None = None,
    tags: Sequence[str] = (),
    source: Source | None = None,
    core: bool = False,
    for_models: bool = True,
    elsewhere: Sequence[Problem] = (),
    project: Project | None = None,
) -> EmptyResult:
    """Return why none of the caller's skills passes the filter; `elsewhere` are skills that are not searched."""
    names = Names(snapshot, policy)
    of_project = [] if project is None else [_without_skills(project)]
    if any(not (for_models and skill.disable_model_invocation) for skill in names.offered()):
        of_source = names.of_source(source) if source is not None else names.offered()
        offered = [skill for skill in of_source if not (for_models and skill.disable_model_invocation)]
        if core and not any(skill.is_pinned for skill in offered):
            none = Problem("Core Skills", "are not among the served ones", "pin one with skillhub.alwaysApply")
            return EmptyResult((none,), mistake=False)
        if source is Source.PROJECT and not offered and of_project:
            return EmptyResult((*of_project,), mistake=False)
        return _filtered_out(offered, Filter.create(category, tags), source)
    if policy.caller.limits:
        fix = "ask the server's operator which skills it covers"
        return EmptyResult((Problem("this access", "covers no skill that is here", fix),), mistake=True)
    settings = (*snapshot.report.problems, *_beyond_filter(snapshot, policy))
    refusals = [refused.as_problem() for refused in snapshot.report.refused]
    # Refusals last: there may be many.
    causes = (*settings, *_withheld(snapshot, policy, for_models=for_models), *refusals)
    rest = () if causes else nothing_there(snapshot.report)
    if any(snapshot.source(skill) is Source.PROJECT for skill in snapshot.everything):
        of_project = []
    found = (*elsewhere, *of_project) if project is not None and project.exists else (*of_project, *elsewhere)
    return EmptyResult((*causes, *found, *rest), mistake=bool(settings or refusals))


def _without_skills(project: Project) -> Problem:
    if project.exists:
        return Problem(project.root, "is the project, and has no skill", "put one in .agents/skills", only_here=True)
    fix = "start in it, or set SKILLHUB_CWD to its directory"
    return Problem("the project", "is unknown here", fix, only_here=True)


def _filtered_out(served: Sequence[Skill], where: Filter, source: Source | None) -> EmptyResult:
    causes: list[Problem] = []
    if source is not None and not served:
        missing = Problem(f"source {source.value}", "has no skill that is served", "leave the source out")
        return EmptyResult((missing,), mistake=False)
    categories = {skill.category for skill in served if skill.category}
    if where.category is not None and where.category not in map(fold_name, categories):
        causes.append(_unknown("category", where.category, categories))
    known_tags = {tag for skill in served for tag in skill.tags}
    folded = {fold_name(tag) for tag in known_tags}
    causes += [_unknown("tag", tag, known_tags) for tag in where.tags if tag not in folded]
    whole = Problem("the filter", "fits no skill as a whole", "leave a part of it out")
    return EmptyResult(tuple(causes) or (whole,), mistake=bool(causes))


def _unknown(kind: str, wanted: str, known: Iterable[str]) -> Problem:
    kinds = "categories" if kind == "category" else "tags"
    names = sorted(known)
    near = near_names(wanted, names)
    guess = "did you mean " + " or ".join(repr(name) for name in near) + "? " if near else ""
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    fix = f"{guess}{kinds}: {', '.join(names[:_LISTED])}{more}" if names else f"no skill has a {kind}"
    return Problem(repr(wanted), f"is the {kind} of no skill that is served", fix)


def _beyond_filter(snapshot: Snapshot, policy: Policy) -> list[Problem]:
    excluded = sum(policy.availability(skill) is Availability.FILTERED for skill in snapshot.skills)
    if not excluded:
        return []
    what = f"{'names nothing, and so ' if policy.visibility.is_empty else ''}excludes {plural(excluded, 'skill')}"
    return [Problem(policy.visibility.setting, what, "correct it, or unset it to serve every skill")]


def _withheld(snapshot: Snapshot, policy: Policy, *, for_models: bool) -> list[Problem]:
    counts = Counter(policy.availability(skill) for skill in snapshot.skills)
    rules = f"correct {policy.unreadable.path}" if policy.unreadable is not None else ""
    causes = (
        (Availability.OFF, "switched off", "switch on with `skillhub enable NAME`"),
        (Availability.UNTRUSTED, "in an untrusted project (SKILLHUB_TRUST=none)", "look at it with `skillhub trust`"),
        (Availability.UNDECIDED, "under rules of their project that cannot be read", rules),
        (Availability.DENIED, "denied by a rule", "see `skillhub allow`"),
        (Availability.WITHHELD, "withheld by the audit (SKILLHUB_AUDIT=block)", "see `skillhub audit`"),
        (Availability.CHANGED, "not as they were locked (SKILLHUB_FROZEN)", "see `skillhub doctor`"),
        (Availability.ON, "for people only (disable-model-invocation)", "they load by name"),
    )
    return [
        Problem(plural(counts[availability], "skill"), what, fix)
        for availability, what, fix in causes
        if counts[availability] and (for_models or availability is not Availability.ON)
    ]


def nothing_there(report: ScanReport) -> tuple[Problem, ...]:
    """Return that the roots have no skill, for a report without problems."""
    named = [root for root in report.roots if root.source is Source.HUB] or list(report.roots)
    if not named:
        return (Problem("SKILLHUB_ROOTS", "names no directory", "name one"),)
    return tuple(Problem(root.given, "has no skill", _FIRST_SKILL, remote="This hub") for root in named)
