"""`skillhub validate`: check skills against the specification and best practice, and fix them with `--fix`."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from skillhub_mcp.chosen_roots import roots_of
from skillhub_mcp.cli.arguments import Group, add_findings_form, add_rule_options, add_setting_options
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, plural, print_json, print_note, print_text
from skillhub_mcp.cli.pager import add_pager_option, paging
from skillhub_mcp.cli.progress_line import terminal_progress
from skillhub_mcp.cli.replica_note import note_publication
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import settings_of
from skillhub_mcp.skills.rules import RULES, Severity

# What is not a terminal gets as much as a large one.
_NO_TERMINAL = (10_000, 40)
_DIFF_HEADER_LINES = 2
# To count them all would take as long as to check them.
_COUNTED_FIXABLE = 20

if TYPE_CHECKING:
    from skillhub_mcp.cli.colours import Painter
    from skillhub_mcp.cli.findings import FindingsText
    from skillhub_mcp.validation.apply_fixes import FixedFile
    from skillhub_mcp.validation.targets import Target, Targets
    from skillhub_mcp.validation.verdict import Finding, ValidationResult


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "validate",
        group=Group.WRITE,
        everyday=True,
        help="check skills against the specification",
        description="Check skills against the specification and best practice.",
    )
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="skill, or directory of skills (default: the hub's roots)"
    )
    parser.add_argument("--no-advice", action="store_true", help="only check the specification")
    parser.add_argument(
        "--fail-on",
        choices=[severity.value for severity in Severity],
        default=Severity.ERROR.value,
        help="minimum severity for exit code 1 (default: %(default)s)",
    )
    add_rule_options(parser, example="key")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--full", action="store_true", help="print every finding, even if they do not fit a screen")
    shown.add_argument("--statistics", action="store_true", help="print only how often each rule is broken")
    shown.add_argument("--list-rules", action="store_true", help="print the rules instead, and how to fix violations")
    parser.add_argument("--costs", action="store_true", help="print the cost of each skill in tokens")
    parser.add_argument("--fix", action="store_true", help="fix what can be fixed safely, after showing a diff")
    parser.add_argument("--yes", action="store_true", help="with --fix, write without confirmation")
    add_findings_form(parser)
    add_pager_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Check the skills and print the findings. Raises InvalidArgument and InvalidSetting."""
    # Imported here because the server, which does not validate, imports this package too.
    from skillhub_mcp.cli.colours import painter
    from skillhub_mcp.cli.findings import FindingsText, note_skipped, skipped_json
    from skillhub_mcp.validation.checker import check
    from skillhub_mcp.validation.sarif import sarif
    from skillhub_mcp.validation.selection import chosen_rules, only

    if args.yes and not args.fix:
        raise InvalidArgument("--yes", "requires --fix")
    if args.fix and (args.json or args.sarif):
        raise InvalidArgument("--fix", "cannot be combined with --json or --sarif", hint="run one after the other")
    rules = chosen_rules(args.select, args.ignore)
    if args.list_rules:
        with paging(wanted=not args.no_pager):
            _list_rules(rules, as_json=args.json)
        return EXIT_OK
    if not args.paths:
        note_publication(settings_of(options))
    with terminal_progress("looking for skills"):
        sought = _targets(args.paths, options)
    chosen = sought.found
    note_skipped(sought.skipped)
    if not chosen:
        print_note("No SKILL.md was found below the hub's roots; give the path of a skill, or of a directory of skills")
    text = FindingsText(os.getcwd(), painter(sys.stdout, os.environ))
    unwritten = _fix(chosen, rules, text, ask=not args.yes) if args.fix else 0
    results = []
    with terminal_progress("checking skills") as progress:
        for number, target in enumerate(chosen):
            progress("checking", number, len(chosen))
            results.append(only(check(target, advice=not args.no_advice), rules))
    if args.sarif:
        print_json(sarif(results, base=os.getcwd()))
    elif args.json:
        print_json(_results_json(results) | {"skipped": skipped_json(sought.skipped)})
    else:
        with paging(wanted=not args.no_pager):
            _print_results(results, text, args)
        _print_fixable(chosen, results, rules)
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


def _targets(paths: Sequence[str], options: Mapping[str, str]) -> Targets:
    from skillhub_mcp.validation.targets import targets, targets_below

    if paths:
        return targets(paths)
    settings = settings_of(options)
    return targets_below(roots_of(settings))


def _print_results(results: Sequence[ValidationResult], text: FindingsText, args: argparse.Namespace) -> None:
    from skillhub_mcp.cli.screen import Screen

    if args.full:
        _print_lines(text.by_file(results))
    elif not args.statistics:
        columns, lines = shutil.get_terminal_size(_NO_TERMINAL)
        _print_lines(text.that_fit(results, Screen(lines, max(columns, 1))))
    for result in results:
        if args.costs and result.cost is not None:
            cost = result.cost
            print_text(
                f"{in_line(text.path(result.path))}: about {cost.catalogue:,} tokens in a catalogue, "
                f"{cost.body:,} when loaded, {cost.files:,} in its other files"
            )
    table = list(text.by_rule(results))
    if table:
        _print_lines([*([] if args.statistics else [""]), *table, ""])
    totals = _totals(results)
    broken = totals["skills"] - totals["valid"]
    found = ", ".join(plural(totals[severity.value], severity.value) for severity in Severity)
    summary = f"{totals['valid']:,} valid" + (f", {broken:,} invalid" if broken else "")
    print_text(f"{plural(totals['skills'], 'skill')}: {summary}; {found}")


def _print_lines(lines: Iterable[str]) -> None:
    # The lines are harmless already, and have colours.
    for line in lines:
        print(line)


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
            rule: {
                "holds": RULES[rule].requirement,
                "fix": RULES[rule].fix,
                "explained_by": explaining_command(rule),
            }
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
        "findings": [_finding_json(finding) for finding in result.findings],
        "tokens": None if cost is None else {"catalogue": cost.catalogue, "body": cost.body, "files": cost.files},
    }


def _finding_json(finding: Finding) -> dict[str, object]:
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "line": finding.line,
        "message": finding.message,
    }


def _fix(chosen: Sequence[Target], rules: Collection[str], text: FindingsText, *, ask: bool) -> int:
    """Show the fixes and write them; return how many files could not be written, each of which is named."""
    from skillhub_mcp.validation.apply_fixes import fix_file, write

    with terminal_progress("looking for what can be fixed"):
        fixed = [one for target in chosen if (one := fix_file(target, rules)) is not None]
    for one in fixed:
        _print_lines(_difference(one, text.path(one.path), text.paint))
        if one.renamed is not None:
            print_text(f"{text.path(one.renamed[0])} -> {text.path(one.renamed[1])} (file-name)")
    if not fixed:
        print_text("nothing can be fixed safely")
        return 0
    count = plural(len(fixed), "file")
    if ask and not _confirm(f"Write {count}?"):
        print_text(f"nothing was written; --yes writes {count}")
        return 0
    problems = [problem for one in fixed if (problem := write(one)) is not None]
    for problem in problems:
        print_note(f"not fixed: {in_line(problem.sentence())}")
    print_text(f"fixed {len(fixed) - len(problems):,} of {count}\n" if problems else f"fixed {count}\n")
    return len(problems)


def _confirm(question: str) -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    print(f"{question} [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _difference(one: FixedFile, path: str, paint: Painter) -> Iterator[str]:
    import difflib

    from skillhub_mcp.cli.colours import Colour

    before, after = (content.decode("utf-8", "backslashreplace") for content in (one.before, one.after))
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), path, f"{path} ({', '.join(one.rules)})", lineterm="", n=1
    )
    colours = {"-": Colour.RED, "+": Colour.GREEN, "@": Colour.CYAN}
    for number, line in enumerate(lines):
        colour = Colour.BOLD if number < _DIFF_HEADER_LINES else colours.get(line[:1])
        yield paint(line, colour) if colour else paint(line)
