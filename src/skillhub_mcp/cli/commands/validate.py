"""`skillhub validate`: check skills against the specification and best practice, and fix them with `--fix`."""

from __future__ import annotations

import argparse
import difflib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict

from skillhub_mcp._util.wording import plural
from skillhub_mcp.cli.console import confirm, print_difference, print_note, print_text, terminal_progress
from skillhub_mcp.cli.findings import RuleBook, find_targets, relative
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, finding_json
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.settings import settings_of
from skillhub_mcp.skills.rules import RULES, Severity
from skillhub_mcp.validation.apply_fixes import fix_file, write
from skillhub_mcp.validation.checker import ValidationResult, check
from skillhub_mcp.validation.fixes import FIXABLE_RULES
from skillhub_mcp.validation.sarif import ShownRule
from skillhub_mcp.validation.selection import chosen_rules, only
from skillhub_mcp.validation.targets import Target

BOOK = RuleBook(
    "validate",
    "https://agentskills.io/specification",
    {Severity.ERROR.value: "red", Severity.WARNING.value: "yellow", Severity.NOTE.value: "cyan"},
    {
        rule.id: ShownRule(rule.id, rule.verdict.value, rule.requirement, rule.fix, rule.origin.value)
        for rule in sorted(RULES.values(), key=lambda rule: (list(Severity).index(rule.verdict), rule.id))
    },
)


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    BOOK.add_options(parser, example="key", fail_on=Severity.ERROR.value)
    parser.add_argument("--no-advice", action="store_true", help="only check the specification")
    parser.add_argument("--fix", action="store_true", help="fix what can be fixed safely, after showing a diff")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Check skills against the specification and best practice."""
    if args.fix and (args.json or args.sarif):
        raise InvalidArgument("--fix", "cannot be combined with --json or --sarif", hint="run one after the other")
    rules = chosen_rules(args.select, args.ignore)
    if args.list_rules:
        return BOOK.print_rules(rules, as_json=args.json)
    sought = find_targets(args.paths, settings_of(options))
    unwritten = _fix(sought.found, rules, args) if args.fix else 0
    results = []
    with terminal_progress("checking skills") as progress:
        for number, target in enumerate(sought.found):
            progress("checking skills", number, len(sought.found))
            results.append(only(check(target, advice=not args.no_advice), rules))
    counts = Counter(finding.severity.value for result in results for finding in result.findings)
    valid = sum(result.valid for result in results)
    totals = {"skills": len(results), "valid": valid} | {severity: counts[severity] for severity in BOOK.styles}
    invalid = f", {len(results) - valid:,} invalid" if valid < len(results) else ""
    found = ", ".join(plural(counts[severity], severity) for severity in BOOK.styles)
    summary = f"{plural(len(results), 'skill')}: {valid:,} valid{invalid}; {found}"
    BOOK.report(args, results, [_json(one) for one in results], totals, sought, summary)
    fixable = {finding.rule for result in results for finding in result.findings}.intersection(FIXABLE_RULES)
    if fixable and not (args.sarif or args.json or args.fix):
        print_note(f"--fix may repair {', '.join(sorted(fixable))}; it shows the changes first")
    failed = unwritten or any(result.has(Severity(args.fail_on)) for result in results)
    return EXIT_FAILED if failed else EXIT_OK


def _json(result: ValidationResult) -> dict[str, object]:
    return {
        "path": result.path,
        "name": result.name,
        "valid": result.valid,
        "findings": [finding_json(one) for one in result.findings],
        "tokens": None if result.cost is None else asdict(result.cost),
    }


def _fix(chosen: Sequence[Target], rules: Collection[str], args: argparse.Namespace) -> int:
    """Show the fixes and write them; return how many files could not be written, each of which is named."""
    with terminal_progress("looking for fixes"):
        fixed = [one for target in chosen if (one := fix_file(target, rules)) is not None]
    for one in fixed:
        path = relative(one.path)
        before, after = (content.decode("utf-8", "backslashreplace") for content in (one.before, one.after))
        reason = f"{path} ({', '.join(one.rules)})"
        print_difference(difflib.unified_diff(before.splitlines(), after.splitlines(), path, reason, lineterm="", n=1))
        if one.renamed is not None:
            print_text(f"{relative(one.renamed[0])} -> {relative(one.renamed[1])} (file-name)")
    if not fixed:
        print_text("nothing can be fixed safely")
        return 0
    count = plural(len(fixed), "file")
    if args.dry_run or not (args.yes or confirm(f"Write {count}?")):
        print_text(f"nothing was written; --yes writes {count}")
        return 0
    problems = [problem for one in fixed if (problem := write(one)) is not None]
    for problem in problems:
        print_note(f"not fixed: {problem.sentence()}")
    print_text(f"fixed {len(fixed) - len(problems):,} of {count}\n" if problems else f"fixed {count}\n")
    return len(problems)
