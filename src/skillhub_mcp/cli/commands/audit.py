"""`skillhub audit`: find hostile content in skills, and record which findings a person has reviewed and accepted."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from skillhub_mcp.bootstrap.places import reviews_path
from skillhub_mcp.chosen_roots import roots_of
from skillhub_mcp.cli.arguments import add_rule_options
from skillhub_mcp.cli.console import print_text, terminal_progress
from skillhub_mcp.cli.findings import find_targets, finding_json, print_findings
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, plural, print_json
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import settings_of
from skillhub_mcp.skills.discovery import walk_roots

if TYPE_CHECKING:
    from skillhub_mcp.auditing.audit import SkillAudit
    from skillhub_mcp.auditing.rules import AuditFinding
    from skillhub_mcp.policy.reviews import Reviews
    from skillhub_mcp.validation.targets import Target

DESCRIPTION = "Find hostile content in skills: hidden text, orders to the agent, theft, downloads that are run."
_ABOUT = "https://genai.owasp.org/llmrisk/llm01-prompt-injection/"
_RISKS = ("critical", "high", "medium", "low")


class _Audited(NamedTuple):
    """A skill's audit, and the findings that a person accepted."""

    audit: SkillAudit
    accepted: Sequence[AuditFinding] = ()


class _File(NamedTuple):
    """One file of a skill with its findings, as they are printed."""

    path: str
    findings: Sequence[AuditFinding]


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    add_rule_options(parser, example="hidden")
    parser.add_argument(
        "--fail-on", choices=_RISKS, default="high", help="minimum severity for exit code 1 (default: %(default)s)"
    )
    review = parser.add_mutually_exclusive_group()
    review.add_argument("--accept", action="store_true", help="record that you reviewed the findings at PATH")
    review.add_argument("--revoke", action="store_true", help="forget what you accepted for the skill at PATH")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, with --accept")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Audit the skills and print the findings. Raises InvalidArgument, InvalidSetting and PolicyUnreadable."""
    from skillhub_mcp.auditing.rules import AUDIT_RULES, Risk
    from skillhub_mcp.validation.selection import chosen_rules

    if args.reason and not args.accept:
        raise InvalidArgument("--reason", "requires --accept")
    rules = chosen_rules(args.select, args.ignore, among=AUDIT_RULES.keys(), command="audit")
    if args.list_rules:
        _list_rules(rules, as_json=args.json)
        return EXIT_OK
    settings = settings_of(options)
    sought = find_targets(args.paths, settings)
    if args.accept or args.revoke:
        return _review(args, sought.found, rules)
    roots = roots_of(settings)
    sources = {root.path: root.source.value for root in roots}
    named = {found.directory: (found.name, sources.get(found.root, "")) for found in walk_roots(roots).found}
    audited = _audit(sought.found, rules, named)
    if args.sarif:
        print_json(_sarif(audited))
    elif args.json:
        print_json(_json(audited) | {"skipped": [asdict(one) for one in sought.skipped]})
    else:
        styles: dict[Enum, str] = dict(zip(Risk, ("red bold", "red", "yellow", "cyan"), strict=True))
        files = [file for one in audited for file in _files(one.audit)]
        print_findings(files, styles, {rule.id: rule.fix for rule in AUDIT_RULES.values()}, args)
        counts = _totals(audited)
        found = ", ".join(f"{counts[risk]:,} {risk}" for risk in _RISKS)
        accepted = f"; {counts['accepted']:,} accepted" if counts["accepted"] else ""
        print_text(f"{plural(counts['skills'], 'skill')}: {counts['clean']:,} without a finding; {found}{accepted}")
    failed = any(one.audit.has(Risk(args.fail_on)) for one in audited)
    return EXIT_FAILED if failed else EXIT_OK


def _audit(chosen: Sequence[Target], rules: Collection[str], origins: Mapping[str, tuple[str, str]]) -> list[_Audited]:
    from skillhub_mcp.auditing.audit import SkillAudit, audit_skill, ordered
    from skillhub_mcp.auditing.names import NamedSkill, look_alikes, near_and_shadowed
    from skillhub_mcp.auditing.rules import found

    audits: dict[str, SkillAudit] = {}
    with terminal_progress("auditing skills") as progress:
        for number, target in enumerate(chosen):
            progress("auditing skills", number, len(chosen))
            if target.directory is None:
                audits[target.path] = SkillAudit(target.path, "", (found("not-read", target.problem, path=""),))
            else:
                audits[target.directory] = audit_skill(target.directory)
    # Names are compared among the audited skills and those of the hub.
    named = [
        NamedSkill(path, audit.name, origins.get(path, ("", path))[1]) for path, audit in audits.items() if audit.name
    ]
    named += [NamedSkill(path, name, origin) for path, (name, origin) in origins.items() if path not in audits]
    alike, near = look_alikes(named), near_and_shadowed(named)
    reviews = _reviews()
    return [
        _reviewed(
            replace(audit, findings=ordered((*audit.findings, *alike.get(path, ()), *near.get(path, ())))),
            reviews,
            rules,
        )
        for path, audit in audits.items()
    ]


def _reviews() -> Reviews:
    from skillhub_mcp.policy.files import reviews_file
    from skillhub_mcp.policy.reviews import NO_REVIEWS

    return reviews_file(reviews_path()).read() or NO_REVIEWS


def _reviewed(audit: SkillAudit, reviews: Reviews, rules: Collection[str]) -> _Audited:
    """Return the audit without what a person accepted, and without rules that were not chosen."""
    from skillhub_mcp.errors import SkillUnverifiable
    from skillhub_mcp.skills.digest import skill_digest

    audit = replace(audit, findings=tuple(one for one in audit.findings if one.rule in rules))
    if not audit.findings or not reviews.by_digest:
        return _Audited(audit)
    try:
        digest = skill_digest(audit.path)
    except SkillUnverifiable:
        return _Audited(audit)
    accepted = reviews.accepted(digest)
    return _Audited(
        replace(audit, findings=tuple(one for one in audit.findings if one.rule not in accepted)),
        [one for one in audit.findings if one.rule in accepted],
    )


def _review(args: argparse.Namespace, chosen: Sequence[Target], rules: Collection[str]) -> int:
    """Record or forget the review of one skill, and say which findings it is about."""
    option = "--accept" if args.accept else "--revoke"
    if args.sarif:
        raise InvalidArgument("--sarif", f"cannot be combined with {option}", hint="--json has the result")
    directories = [target.directory for target in chosen if target.directory is not None]
    if len(args.paths) != 1 or len(directories) != 1:
        raise InvalidArgument(option, "takes one skill at a time", hint=f"skillhub audit PATH {option}")
    if args.accept:
        _accept(directories[0], rules, args)
    else:
        # Without a choice of rules all goes, also what is accepted of rules that there are no longer.
        _revoke(directories[0], rules if args.select or args.ignore else None, args)
    return EXIT_OK


def _accept(directory: str, rules: Collection[str], args: argparse.Namespace) -> None:
    from datetime import date

    from skillhub_mcp.auditing.audit import audit_skill
    from skillhub_mcp.policy.files import change_reviews
    from skillhub_mcp.policy.reviews import Review
    from skillhub_mcp.skills.digest import skill_digest

    if args.reason and not args.reason.isprintable():
        raise InvalidArgument("--reason", "must be one line of printable text")
    digest = skill_digest(directory)
    audit = audit_skill(directory)
    accepted = sorted({one.rule for one in audit.findings if one.rule in rules})
    reported: Mapping[str, str] = dict.fromkeys(accepted, args.reason) if args.reason else {}
    if accepted and not args.dry_run:
        review = Review(frozenset(accepted), audit.name, directory, date.today().isoformat(), reported)  # noqa: DTZ011
        reported = change_reviews(reviews_path(), lambda reviews: reviews.with_review(digest, review)).reasons(digest)
    if args.json:
        result = {"path": directory, "name": audit.name, "digest": digest, "accepted": accepted}
        print_json(result | {"reasons": {rule: reported[rule] for rule in accepted if rule in reported}})
    elif accepted:
        verb = "would accept" if args.dry_run else "accepted"
        print_text(f"{verb} for {in_line(audit.name)}, until one of its files changes: {', '.join(accepted)}")
    else:
        print_text(f"{in_line(audit.name)}: nothing was found that could be accepted")


def _revoke(directory: str, rules: Collection[str] | None, args: argparse.Namespace) -> None:
    from skillhub_mcp.policy.files import change_reviews
    from skillhub_mcp.skills.digest import skill_digest

    digest = skill_digest(directory)
    place = ([digest], [directory])
    before = _reviews().of(*place)
    if args.dry_run:
        after = _reviews().without(*place, rules).of(*place)
    else:
        after = change_reviews(reviews_path(), lambda reviews: reviews.without(*place, rules)).of(*place)
    still = sorted({rule for review in after.values() for rule in review.rules})
    if args.json:
        revoked = sorted({rule for review in before.values() for rule in review.rules}.difference(still))
        print_json({"path": directory, "digest": digest, "revoked": revoked, "accepted": still})
    elif still:
        print_text(f"still accepted for {in_line(directory)}: {in_line(', '.join(still))}")
    else:
        print_text(f"nothing is accepted any more for {in_line(directory)}")


def _files(audit: SkillAudit) -> Iterator[_File]:
    for path in dict.fromkeys(one.path for one in audit.findings):
        findings = tuple(one for one in audit.findings if one.path == path)
        yield _File(os.path.join(audit.path, path) if path else audit.path, findings)


def _totals(audited: Sequence[_Audited]) -> dict[str, int]:
    counts = Counter(one.severity.value for each in audited for one in each.audit.findings)
    return {
        "skills": len(audited),
        "clean": sum(not each.audit.findings for each in audited),
        **{risk: counts[risk] for risk in _RISKS},
        "accepted": sum(len(each.accepted) for each in audited),
    }


def _json(audited: Sequence[_Audited]) -> dict[str, object]:
    from skillhub_mcp.auditing.rules import AUDIT_RULES
    from skillhub_mcp.validation.sarif import explaining_command

    rules = sorted({one.rule for each in audited for one in (*each.audit.findings, *each.accepted)})
    return {
        "skills": [
            {
                "path": each.audit.path,
                "name": each.audit.name,
                "findings": [finding_json(one) for one in each.audit.findings],
                "accepted": [finding_json(one) for one in each.accepted],
            }
            for each in audited
        ],
        "rules": {
            rule: {
                "finds": AUDIT_RULES[rule].finds,
                "fix": AUDIT_RULES[rule].fix,
                "published": AUDIT_RULES[rule].source,
                "explained_by": explaining_command(rule, "audit"),
            }
            for rule in rules
        },
        "summary": _totals(audited),
    }


def _sarif(audited: Sequence[_Audited]) -> dict[str, object]:
    from skillhub_mcp.auditing.rules import AUDIT_RULES, Risk
    from skillhub_mcp.validation.sarif import SarifResult, SarifRule, explaining_command, sarif_log

    levels = {Risk.CRITICAL: "error", Risk.HIGH: "error", Risk.MEDIUM: "warning", Risk.LOW: "note"}
    # Code hosts sort by these scores.
    scores = {Risk.CRITICAL: "9.5", Risk.HIGH: "8.0", Risk.MEDIUM: "5.0", Risk.LOW: "2.0"}
    rules = {}
    for rule in AUDIT_RULES.values():
        more = {"security-severity": scores[rule.severity], "published": rule.source}
        more["explained_by"] = explaining_command(rule.id, "audit")
        rules[rule.id] = SarifRule(rule.id, rule.finds, rule.fix, levels[rule.severity], more)
    results = [
        SarifResult(
            one.rule,
            levels[one.severity],
            f"{one.message}; {AUDIT_RULES[one.rule].fix}",
            os.path.join(each.audit.path, one.path) if one.path else each.audit.path,
            one.line,
        )
        for each in audited
        for one in each.audit.findings
    ]
    return sarif_log(results, rules=rules, base=os.getcwd(), about=_ABOUT)


def _list_rules(rules: Collection[str], *, as_json: bool) -> None:
    from skillhub_mcp.auditing.rules import AUDIT_RULES

    listed = sorted((AUDIT_RULES[rule] for rule in rules), key=lambda rule: (rule.severity.rank, rule.id))
    if as_json:
        keys = ("id", "severity", "finds", "fix", "source")
        print_json({"rules": [{key: getattr(rule, key) for key in keys} for rule in listed]})
        return
    for rule in listed:
        print_text(f"{rule.id} ({rule.severity.value}; {rule.source})")
        print_text(f"      finds: {rule.finds}\n      fix: {rule.fix}")
