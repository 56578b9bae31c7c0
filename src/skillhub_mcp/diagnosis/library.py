"""The checks of the library: roots, skills, trust, rules, locks, the audit and the index."""

from __future__ import annotations

import os
import shlex
from collections import Counter

from skillhub_mcp._util.wording import plural
from skillhub_mcp.chosen_roots import lock_option, project_of, recorded_roots_problem, trust_path
from skillhub_mcp.diagnosis.installation import CheckResult, Installation
from skillhub_mcp.disclosure.listing import SkillCounts, count_skills
from skillhub_mcp.environment import shown_path
from skillhub_mcp.errors import CLOSE_TO_OTHERS, PolicyUnreadable, TrustUnreadable
from skillhub_mcp.index.indexed_roots import IndexedRoot, indexed_roots
from skillhub_mcp.index.lance import IndexDamaged
from skillhub_mcp.locks.file_digests import LockState
from skillhub_mcp.locks.lock_verifier import LockStanding
from skillhub_mcp.policy.files import tokens_file, trust_file
from skillhub_mcp.redaction import redacted
from skillhub_mcp.settings import Settings
from skillhub_mcp.skills.model import Trust
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.names import typed_command
from skillhub_mcp.skills.places import shell_path
from skillhub_mcp.skills.snapshot import Problem, refusal_problems, root_problems, shadowing

# Doctor does not wait for the audit of a large library.
_AUDITED_AT_ONCE = 300
_REBUILD = "skillhub --reindex"
_TRUST_STATES = {Trust.AWAITED: "awaits trust", Trust.CHANGED: "has changed since you trusted it"}


def check_roots(installation: Installation) -> CheckResult:
    """Return the roots with their numbers of skills, those that cannot be searched, and places that are no roots."""
    snapshot = installation.view.snapshot
    unreadable = recorded_roots_problem()
    elsewhere = installation.unsearched(snapshot)
    skills = Counter(skill.root for skill in snapshot.everything)
    refused = Counter(one.root for one in snapshot.report.refused)
    roots = [root for root in snapshot.report.roots if os.path.isdir(root.path)]
    project = project_of(installation.settings)
    return CheckResult(
        state=f"project: {shown_path(project.root)}" if project.exists else "no project here: SKILLHUB_CWD names one",
        problems=[*([] if unreadable is None else [unreadable]), *root_problems(snapshot.report)],
        warnings=[place.as_problem() for place in elsewhere],
        details=[
            f"{root.source.value:<10}{plural(skills[root.path], 'skill')}"
            f"{f' and {refused[root.path]:,} refused' if refused[root.path] else ''}  {root.given}"
            for root in roots
        ],
        facts={
            "roots": [{"path": root.path, "source": root.source.value, "skills": skills[root.path]} for root in roots],
            "not_searched": [{"path": one.place.path, "skills": one.skills} for one in elsewhere],
        },
    )


def check_skills(installation: Installation) -> CheckResult:
    """Return what is served, refused and shadowed."""
    snapshot, policy = installation.view.snapshot, installation.policy()
    refused = len(snapshot.report.refused)
    lost = (Names(snapshot) if policy is None else Names(snapshot, policy)).shadowed()
    # Rules that cannot be read let nothing be served.
    unserved = SkillCounts(served=0, refused=refused, shadowed=len(lost))
    counts = unserved if policy is None else count_skills(snapshot, policy)
    elsewhere = sum(one.skills for one in installation.unsearched(snapshot))
    left = elsewhere + refused + counts.filtered + counts.off + counts.denied
    state = f"{plural(counts.served, 'skill')} served"
    state += f", {counts.not_for_models:,} not for models" if counts.not_for_models else ""
    state += f", {left:,} found but not served" if left else ""
    return CheckResult(
        problems=refusal_problems(snapshot.report),
        notes=list(map(shadowing, lost)),
        state=state,
        details=[f"skills    {counts.sentence()}"],
        facts={
            "served": counts.served,
            "not_for_models": counts.not_for_models,
            "excluded": {"filtered": counts.filtered, "off": counts.off, "denied": counts.denied},
            "refused": refused,
            "shadowed": counts.shadowed,
        },
    )


def check_trust(installation: Installation) -> CheckResult:
    """Return the projects that await trust, and the files about trust that cannot be read."""
    snapshot, policy = installation.view.snapshot, installation.policy()
    unreadable = [] if policy is None or policy.unreadable is None else [policy.unreadable.as_error()]
    try:
        trust_file(trust_path()).read()
    except TrustUnreadable as error:
        # The check of the files reports what others may write.
        if error.fix != CLOSE_TO_OTHERS:
            unreadable.insert(0, error)
    counts = Counter(skill.root for skill in snapshot.everything if skill.awaits_trust)
    awaiting = [root for root in snapshot.report.roots if counts[root.path]]
    return CheckResult(
        problems=[Problem(one.path, f"cannot be used: {one.reason}", one.fix) for one in unreadable],
        warnings=[
            Problem(
                root.path,
                f"{_TRUST_STATES[root.trust]} ({plural(counts[root.path], 'skill')}): they cannot override your skills "
                "or be pinned",
                f"`skillhub trust {shell_path(root.within)}` shows what the project brings",
            )
            for root in awaiting
        ],
        facts={"awaiting_trust": [{"path": root.path, "trust": root.trust.value} for root in awaiting]},
    )


def check_rules(installation: Installation) -> CheckResult:
    """Return misspelt names, the file that cannot be read, and the causes of an empty hub."""
    hub, snapshot = installation.hub, installation.view.snapshot
    path = installation.settings.http.tokens_file
    try:
        if path:
            tokens_file(path).read()
        named = installation.unknown_names(snapshot)
        if hub.skills():
            return CheckResult(problems=named)
        causes = hub.why_nothing(for_models=False).causes
    except PolicyUnreadable as error:
        if error.fix == CLOSE_TO_OTHERS:
            return CheckResult()
        return CheckResult(problems=[Problem(error.path, error.message, error.hint or "fix the file")])
    # Directories, refusals and misspelt filters are reported already.
    known = (*named, *root_problems(snapshot.report), *refusal_problems(snapshot.report))
    reported = {one.subject for one in known}
    causes = tuple(cause for cause in causes if cause.subject not in reported and not cause.only_here)
    return CheckResult(problems=[*named, *causes])


def check_locks(installation: Installation) -> CheckResult:
    """Return the lock files that cannot be read, and the skills that were edited."""
    skills, settings = installation.view.snapshot.everything, installation.settings
    found = installation.hub.lock_standings(skills)
    standings = [(skill, one) for skill, one in zip(skills, found, strict=True) if one is not None]
    unreadable = {one.problem.path: one.problem for _, one in standings if one.problem is not None}
    edited = [(skill, one) for skill, one in standings if one.state is LockState.EDITED]
    unchanged = sum(one.state is LockState.UNCHANGED for _, one in standings)
    return CheckResult(
        problems=[Problem(path, one.message, one.hint or "correct it") for path, one in sorted(unreadable.items())],
        warnings=[_edited(skill.directory, one, settings) for skill, one in edited],
        details=[f"locks     {unchanged:,} unchanged, {len(edited):,} edited"] if unchanged or edited else (),
        facts={"locks": {"unchanged": unchanged, "edited": len(edited), "unreadable": sorted(unreadable)}},
    )


def _edited(directory: str, standing: LockStanding, settings: Settings) -> Problem:
    first = standing.differs.first
    difference = f" ({standing.differs.shown(first)})" if first else ""
    withheld = ", and is withheld" if settings.policy.frozen != "0" else ""
    option = lock_option(standing.lock_path, settings)
    name = standing.locked.name if standing.locked is not None else "NAME"
    verify = typed_command("skillhub verify", option=option)
    fix = f"see `{verify}`; `{typed_command('skillhub lock', name, option=option)}` locks it as it is now"
    return Problem(directory, f"is not as it was locked{difference}{withheld}", fix)


def check_audit(installation: Installation) -> CheckResult:
    """Return the critical findings, and the number of high ones."""
    auditor, policy = installation.hub.auditor, installation.policy()
    if auditor is None or policy is None:
        return CheckResult(facts={"audit": None})
    skills = [skill for skill in installation.view.snapshot.everything if policy.visibility.allows(skill)]
    left = auditor.audit_all(skills, most=_AUDITED_AT_ONCE)
    found = [(skill, one) for skill in skills for one in installation.hub.audited(skill)]
    withheld = ", and is withheld" if auditor.blocks else ""
    critical = [
        Problem(
            skill.directory,
            f"has a critical finding of the audit: {one.rule} ({one.place}){withheld}",
            f"read it with `skillhub audit {shlex.quote(skill.directory)}`; remove it, or accept it with --accept",
        )
        for skill, one in found
        if one.severity.value == "critical"
    ]
    high = sum(one.severity.value == "high" for _, one in found)
    rest = f", {plural(left, 'skill')} not audited yet: `skillhub audit`" if left else ""
    return CheckResult(
        warnings=critical,
        details=[f"audit     {len(critical):,} critical, {high:,} high{rest}"],
        facts={"audit": {"critical": len(critical), "high": high, "not_audited": left}},
    )


def check_index(installation: Installation) -> CheckResult:
    """Read the whole index and return what is wrong with it."""
    view, settings, embeddings = installation.view, installation.settings, installation.index.embedding
    problems: list[Problem] = []
    try:
        if view.index is not None:
            view.index.table.check()
    except IndexDamaged as error:
        fix = f"run {_REBUILD}; it is derived from the skills"
        problems.append(Problem(redacted(settings.index.db_path), f"the index is damaged: {error}", fix))
    if view.problem is not None:
        problems.append(Problem("index", view.problem.message, view.problem.hint or f"run {_REBUILD}"))
    if view.report is not None and view.report.embedding_failure is not None:
        what = f"skills without vectors are found by text alone: {view.report.embedding_failure}"
        fix = f"check the provider, its key and EMBEDDING_BASE_URL; after a change of model, run {_REBUILD}"
        if settings.embedding.provider == "onnx":
            fix = "correct EMBEDDING_MODEL, then run skillhub index"
        problems.append(Problem("embeddings", what, fix))
    states = [] if settings.replica.read_only else installation.index.states()
    roots = indexed_roots(states, {root.path for root in view.snapshot.report.roots})
    unused = [one for one in roots if one.skills and not one.used]
    is_ready = view.index is not None and not problems
    return CheckResult(
        problems=problems,
        warnings=[_unused(one) for one in unused if not one.there],
        notes=[_unused(one) for one in unused if one.there],
        details=[f"index     {'ready' if is_ready else 'not ready'}, embeddings: {embeddings}"],
        facts={
            "index": "ready" if is_ready else "failed",
            "embeddings": embeddings,
            "unused_roots": [one.as_json() for one in unused],
        },
    )


def _unused(root: IndexedRoot) -> Problem:
    """Return the finding about rows that this configuration does not use: perhaps another project or server does."""
    if root.there:
        what = f"is not used by this configuration; the index has {root.facts}"
        fix = "leave it for the project or the server that uses it; `skillhub index --forget` drops such rows"
        return Problem(root.path, what, fix)
    what = f"is gone or not mounted, and no root here; the index has {root.facts}"
    return Problem(root.path, what, f"if it is gone for good, skillhub index --forget {shlex.quote(root.path)}")
