"""`skillhub validate`: check skills against the specification and best practice, and fix them with `--fix`."""

from __future__ import annotations

import argparse
import difflib
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING

from skillhub_mcp.cli.arguments import add_rule_options
from skillhub_mcp.cli.console import confirm, paging, print_line, print_note, print_text, terminal_progress
from skillhub_mcp.cli.findings import find_targets, print_findings, relative
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, plural, print_json
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import settings_of
from skillhub_mcp.skills.rules import RULES, Severity

if TYPE_CHECKING:
    from skillhub_mcp.validation.targets import Target
    from skillhub_mcp.validation.verdict import ValidationResult

DESCRIPTION = "Check skills against the specification and best practice."
_STYLES: Mapping[Enum, str] = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_DIFF_STYLES = {"-": "red", "+": "green", "@": "cyan"}
# Counting them all would take as long as checking them.
_COUNTED_FIXABLE = 20


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    add_rule_options(parser, example="key")
    parser.add_argument("--no-advice", action="store_true", help="only check the specification")
    parser.add_argument(
        "--fail-on",
        choices=[severity.value for severity in Severity],
        default=Severity.ERROR.value,
        help="minimum severity for exit code 1 (default: %(default)s)",
    )
    parser.add_argument("--fix", action="store_true", help="fix what can be fixed safely, after showing a diff")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Check the skills and print the findings. Raises InvalidArgument and InvalidSetting."""
    from skillhub_mcp.validation.checker import check
    from skillhub_mcp.validation.sarif import sarif
    from skillhub_mcp.validation.selection import chosen_rules, only

    if args.fix and (args.json or args.sarif):
        raise InvalidArgument("--fix", "cannot be combined with --json or --sarif", hint="run one after the other")
    rules = chosen_rules(args.select, args.ignore)
    if args.list_rules:
        with paging():
            _list_rules(rules, as_json=args.json)
        return EXIT_OK
    sought = find_targets(args.paths, settings_of(options))
    unwritten = _fix(sought.found, rules, args) if args.fix else 0
    results = []
    with terminal_progress("checking skills") as progress:
        for number, target in enumerate(sought.found):
            progress("checking skills", number, len(sought.found))
            results.append(only(check(target, advice=not args.no_advice), rules))
    if args.sarif:
        print_json(sarif(results, base=os.getcwd()))
    elif args.json:
        print_json(_results_json(results) | {"skipped": [asdict(one) for one in sought.skipped]})
    else:
        with paging():
            _print_results(results, args)
        _print_fixable(sought.found, results, rules)
    failed = unwritten or any(result.has(Severity(args.fail_on)) for result in results)
    return EXIT_FAILED if failed else EXIT_OK


def _list_rules(rules: Collection[str], *, as_json: bool) -> None:
    order = list(Severity)
    listed = sorted((RULES[rule] for rule in rules), key=lambda rule: (order.index(rule.verdict), rule.id))
    if as_json:
        print_json({"rules": [asdict(rule) | {"severity": rule.verdict} for rule in listed]})
        return
    for rule in listed:
        print_text(f"{rule.id} ({rule.verdict.value}, {rule.origin.value})")
        print_text(f"      {rule.requirement}\n      fix: {rule.fix}")


def _print_results(results: Sequence[ValidationResult], args: argparse.Namespace) -> None:
    print_findings(results, _STYLES, {rule.id: rule.fix for rule in RULES.values()}, args)
    totals = _totals(results)
    broken = totals["skills"] - totals["valid"]
    found = ", ".join(plural(totals[severity.value], severity.value) for severity in Severity)
    summary = f"{totals['valid']:,} valid" + (f", {broken:,} invalid" if broken else "")
    print_text(f"{plural(totals['skills'], 'skill')}: {summary}; {found}")


def _print_fixable(chosen: Sequence[Target], results: Sequence[ValidationResult], rules: Collection[str]) -> None:
    from skillhub_mcp.validation.apply_fixes import fix_file
    from skillhub_mcp.validation.fixes import FIXABLE_RULES

    fixable = (
        target
        for target, result in zip(chosen, results, strict=True)
        if any(finding.rule in FIXABLE_RULES for finding in result.findings) and fix_file(target, rules) is not None
    )
    count = sum(1 for _ in islice(fixable, _COUNTED_FIXABLE))
    if count:
        print_text(f"--fix can repair {plural(count, 'file')}{' or more' if count == _COUNTED_FIXABLE else ''}")


def _totals(results: Sequence[ValidationResult]) -> dict[str, int]:
    counts = Counter(finding.severity.value for result in results for finding in result.findings)
    return {
        "skills": len(results),
        "valid": sum(result.valid for result in results),
        **{severity.value: counts[severity.value] for severity in Severity},
    }


def _results_json(results: Sequence[ValidationResult]) -> dict[str, object]:
    from skillhub_mcp.validation.sarif import explaining_command

    broken = sorted({finding.rule for result in results for finding in result.findings})
    return {
        "skills": [_result_json(result) for result in results],
        "rules": {
            rule: {"holds": RULES[rule].requirement, "fix": RULES[rule].fix, "explained_by": explaining_command(rule)}
            for rule in broken
        },
        "summary": _totals(results),
    }


def _result_json(result: ValidationResult) -> dict[str, object]:
    cost = result.cost
    return {
        "path": result.path,
        "name": result.name,
        "valid": result.valid,
        "findings": [
            {"rule": one.rule, "severity": one.severity.value, "line": one.line, "message": one.message}
            for one in result.findings
        ],
        "tokens": None if cost is None else {"catalogue": cost.catalogue, "body": cost.body, "files": cost.files},
    }


def _fix(chosen: Sequence[Target], rules: Collection[str], args: argparse.Namespace) -> int:
    """Show the fixes and write them; return how many files could not be written, each of which is named."""
    from skillhub_mcp.validation.apply_fixes import fix_file, write

    with terminal_progress("looking for fixes"):
        fixed = [one for target in chosen if (one := fix_file(target, rules)) is not None]
    for one in fixed:
        path = relative(one.path)
        before, after = (content.decode("utf-8", "backslashreplace") for content in (one.before, one.after))
        lines = difflib.unified_diff(
            before.splitlines(), after.splitlines(), path, f"{path} ({', '.join(one.rules)})", lineterm="", n=1
        )
        for line in lines:
            print_line((line, "bold" if line.startswith(("--- ", "+++ ")) else _DIFF_STYLES.get(line[:1], "")))
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
        print_note(f"not fixed: {in_line(problem.sentence())}")
    print_text(f"fixed {len(fixed) - len(problems):,} of {count}\n" if problems else f"fixed {count}\n")
    return len(problems)
