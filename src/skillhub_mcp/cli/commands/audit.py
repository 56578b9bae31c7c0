"""`skillhub audit`: find hostile content in skills, and record which findings a person has reviewed and accepted."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import NamedTuple

from skillhub_mcp._util.wording import plural
from skillhub_mcp.auditing.audit import SkillAudit, audit_skill, ordered
from skillhub_mcp.auditing.names import look_alikes, one_letter_apart
from skillhub_mcp.auditing.rules import AUDIT_RULES, AuditFinding, Risk, found
from skillhub_mcp.chosen_roots import roots_of
from skillhub_mcp.cli.console import print_line, terminal_progress
from skillhub_mcp.cli.findings import RuleBook, find_targets
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, finding_json, print_json
from skillhub_mcp.errors import InvalidArgument, SkillUnverifiable
from skillhub_mcp.policy.files import REVIEWS
from skillhub_mcp.policy.reviews import NO_REVIEWS, Review, Reviews
from skillhub_mcp.settings import Settings, settings_of
from skillhub_mcp.skills.digest import skill_digest
from skillhub_mcp.skills.discovery import walk_roots
from skillhub_mcp.validation.sarif import ShownRule
from skillhub_mcp.validation.selection import chosen_rules
from skillhub_mcp.validation.targets import Target

_BOOK = RuleBook(
    "audit",
    "https://genai.owasp.org/llmrisk/llm01-prompt-injection/",
    {"critical": "red bold", "high": "red", "medium": "yellow", "low": "cyan"},
    {
        rule.id: ShownRule(rule.id, rule.severity.value, rule.finds, rule.fix, rule.source)
        for rule in sorted(AUDIT_RULES.values(), key=lambda rule: (rule.severity.rank, rule.id))
    },
)


class _File(NamedTuple):
    """One file of a skill with its findings, as they are printed."""

    path: str
    findings: Sequence[AuditFinding]


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    _BOOK.add_options(parser, example="hidden", fail_on="high")
    review = parser.add_mutually_exclusive_group()
    review.add_argument("--accept", action="store_true", help="record that you reviewed the findings at PATH")
    review.add_argument("--revoke", action="store_true", help="forget what you accepted for the skill at PATH")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, with --accept")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Find hostile content in skills: hidden text, orders to the agent, theft, downloads that are run."""
    if args.reason and not args.accept:
        raise InvalidArgument("--reason", "requires --accept")
    rules = chosen_rules(args.select, args.ignore, among=AUDIT_RULES.keys(), command="audit")
    if args.list_rules:
        return _BOOK.print_rules(rules, as_json=args.json)
    settings = settings_of(options)
    sought = find_targets(args.paths, settings)
    if args.accept or args.revoke:
        return _review(args, sought.found, rules)
    audits, accepted = _audit(sought.found, rules, settings)
    counts = Counter(one.severity.value for audit in audits for one in audit.findings)
    clean, silent = sum(not audit.findings for audit in audits), sum(map(len, accepted.values()))
    totals = {"skills": len(audits), "clean": clean} | {risk: counts[risk] for risk in _BOOK.styles}
    files = [
        _File(os.path.join(audit.path, path).rstrip(os.sep), [one for one in audit.findings if one.path == path])
        for audit in audits
        for path in dict.fromkeys(one.path for one in audit.findings)
    ]
    skills = [
        {
            "path": audit.path,
            "name": audit.name,
            "findings": [finding_json(one, file=one.path) for one in audit.findings],
            "accepted": [finding_json(one, file=one.path) for one in accepted[audit.path]],
        }
        for audit in audits
    ]
    by_risk = ", ".join(f"{counts[risk]:,} {risk}" for risk in _BOOK.styles)
    summary = f"{plural(len(audits), 'skill')}: {clean:,} without a finding; {by_risk}"
    summary += f"; {silent:,} accepted" if silent else ""
    _BOOK.report(args, files, skills, totals | {"accepted": silent}, sought, summary)
    return EXIT_FAILED if any(audit.has(Risk(args.fail_on)) for audit in audits) else EXIT_OK


def _audit(
    chosen: Sequence[Target], rules: Collection[str], settings: Settings
) -> tuple[list[SkillAudit], dict[str, list[AuditFinding]]]:
    """Return the audits without what a person accepted, and what they accepted by the path of the skill."""
    audits: dict[str, SkillAudit] = {}
    with terminal_progress("auditing skills") as progress:
        for number, target in enumerate(chosen):
            progress("auditing skills", number, len(chosen))
            if target.directory is None:
                audits[target.path] = SkillAudit(target.path, "", (found("not-read", target.problem, path=""),))
            else:
                audits[target.directory] = audit_skill(target.directory)
    # Names are compared among the audited skills and those of the hub.
    roots = roots_of(settings)
    sources = {root.path: root.source.value for root in roots}
    of_hub = walk_roots(roots).found
    names = {one.directory: one.name for one in of_hub} | {path: one.name for path, one in audits.items() if one.name}
    origins = {path: path for path in names} | {one.directory: sources.get(one.root, "") for one in of_hub}
    alike, near, reviews = look_alikes(names), one_letter_apart(names, origins), _reviews()
    shown, accepted = [], {}
    for path, audit in audits.items():
        every = ordered((*audit.findings, *alike.get(path, ()), *near.get(path, ())))
        wanted = [one for one in every if one.rule in rules]
        silent = _accepted(audit.path, reviews) if wanted else frozenset()
        accepted[audit.path] = [one for one in wanted if one.rule in silent]
        shown.append(replace(audit, findings=tuple(one for one in wanted if one.rule not in silent)))
    return shown, accepted


def _reviews() -> Reviews:
    return REVIEWS.file().read() or NO_REVIEWS


def _accepted(path: str, reviews: Reviews) -> frozenset[str]:
    """Return the rules that a person accepted for a skill as it is now."""
    try:
        return reviews.accepted(skill_digest(path)) if reviews.by_digest else frozenset()
    except SkillUnverifiable:
        return frozenset()


def _review(args: argparse.Namespace, chosen: Sequence[Target], rules: Collection[str]) -> int:
    """Record or forget the review of one skill, and print which findings it is about. Raises InvalidArgument."""
    option = "--accept" if args.accept else "--revoke"
    directories = [target.directory for target in chosen if target.directory is not None]
    if len(args.paths) != 1 or len(directories) != 1 or args.sarif:
        hint = f"skillhub audit PATH {option}"
        raise InvalidArgument(option, "takes one skill at a time, and no --sarif", hint=hint)
    if args.reason and not args.reason.isprintable():
        raise InvalidArgument("--reason", "must be one line of printable text")
    (directory,) = directories
    digest, audit = skill_digest(directory), audit_skill(directory)
    accepted = frozenset(one.rule for one in audit.findings if one.rule in rules)
    reasons = dict.fromkeys(accepted, args.reason) if args.reason else {}
    review = Review(accepted, audit.name, directory, date.today().isoformat(), reasons)  # noqa: DTZ011 - the user's day

    def change(reviews: Reviews) -> Reviews:
        if args.accept:
            return reviews.with_review(digest, review) if accepted else reviews
        # Without a choice of rules all goes, also what is accepted of rules that no longer exist.
        return reviews.without([digest], [directory], rules if args.select or args.ignore else None)

    after = change(_reviews()) if args.dry_run else REVIEWS.change(REVIEWS.path, change)
    still = sorted({rule for one in after.of([digest], [directory]).values() for rule in one.rules})
    if args.json:
        known = {"path": directory, "name": audit.name, "digest": digest, "dry_run": args.dry_run}
        print_json(known | {"accepted": still, "reasons": dict(after.reasons(digest))})
    else:
        would = "would be " if args.dry_run else ""
        what = f"{would}accepted until one of its files changes: {', '.join(still)}" if still else "nothing is accepted"
        print_line(f"{audit.name}: {what}")
    return EXIT_OK
