"""`skillhub validate`: what the specification says of skills, what would make them better, and `--fix`."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillhub_mcp.bootstrap import roots_of
from skillhub_mcp.cli.arguments import add_json_option, add_setting_options
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, print_json, say
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.settings import read_settings
from skillhub_mcp.skills.rules import RULES, Severity

if TYPE_CHECKING:
    from skillhub_mcp.validation.apply_fixes import FixedFile
    from skillhub_mcp.validation.checker import Target
    from skillhub_mcp.validation.verdict import Finding, ValidationResult


def add_parser(verbs: Any) -> None:
    """Say what may be typed."""
    parser = verbs.add_parser(
        "validate",
        help="check skills against the specification",
        description="Check skills against the specification, and say what would make them better.",
    )
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="a skill, or a directory of skills (default: where the hub looks)"
    )
    parser.add_argument("--no-advice", action="store_true", help="only what the specification says")
    parser.add_argument(
        "--fail-on",
        choices=[severity.value for severity in Severity],
        default=Severity.ERROR.value,
        help="the least that makes the exit code 1 (default: %(default)s)",
    )
    parser.add_argument("--costs", action="store_true", help="print what each skill costs a model, in tokens")
    parser.add_argument("--fix", action="store_true", help="mend what can be mended without guessing; shows it first")
    parser.add_argument("--yes", action="store_true", help="with --fix, write without asking")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--sarif", action="store_true", help="print SARIF 2.1.0, for code hosts")
    add_json_option(form)
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Check the skills and print the findings. Raises InvalidArgument and InvalidSetting."""
    # Here, and not at the top: the server starts by way of this package and validates nothing.
    from skillhub_mcp.validation.checker import check
    from skillhub_mcp.validation.sarif import sarif

    if args.yes and not args.fix:
        raise InvalidArgument("--yes", "means something only with --fix")
    if args.fix and (args.json or args.sarif):
        raise InvalidArgument("--fix", "shows a difference, neither JSON nor SARIF", hint="run the two in turn")
    chosen = list(_targets(args.paths, options))
    if args.fix:
        _fix(chosen, ask=not args.yes)
    verdicts = [check(target, advice=not args.no_advice) for target in chosen]
    if args.sarif:
        print_json(sarif(verdicts, base=os.getcwd()))
    elif args.json:
        print_json(_json(verdicts))
    else:
        _say(verdicts, costs=args.costs)
    failed = any(verdict.has(Severity(args.fail_on)) for verdict in verdicts)
    return EXIT_FAILED if failed else EXIT_OK


def _targets(paths: Sequence[str], options: Mapping[str, str]) -> Iterator[Target]:
    from skillhub_mcp.validation.checker import targets, targets_below

    if paths:
        return targets(paths)
    settings, _ = read_settings(os.environ, options)
    return targets_below(roots_of(settings))


def _say(verdicts: Sequence[ValidationResult], *, costs: bool) -> None:
    for verdict in verdicts:
        for finding in verdict.findings:
            line = f":{finding.line}" if finding.line else ""
            say(f"{verdict.path}{line}: {finding.severity.value} {finding.rule}: {finding.message}\n    {finding.fix}")
        if costs and verdict.cost is not None:
            cost = verdict.cost
            say(
                f"{verdict.path}: about {cost.catalogue:,} tokens in a catalogue, {cost.body:,} when loaded, "
                f"{cost.files:,} in its other files"
            )
    totals = _totals(verdicts)
    broken = totals["skills"] - totals["valid"]
    if any(verdict.findings for verdict in verdicts):
        say("")
    found = ", ".join(_counted(totals[severity.value], severity.value) for severity in Severity)
    kept = f"{totals['valid']:,} as specified" + (f", {broken:,} not" if broken else "")
    say(f"{_counted(totals['skills'], 'skill')}: {kept}; {found}")


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _totals(verdicts: Sequence[ValidationResult]) -> dict[str, int]:
    counts = Counter(finding.severity.value for verdict in verdicts for finding in verdict.findings)
    return {
        "skills": len(verdicts),
        "valid": sum(verdict.valid for verdict in verdicts),
        **{severity.value: counts[severity.value] for severity in Severity},
    }


def _json(verdicts: Sequence[ValidationResult]) -> dict[str, object]:
    from skillhub_mcp.validation.sarif import docs_anchor

    broken = sorted({finding.rule for verdict in verdicts for finding in verdict.findings})
    return {
        "skills": [_verdict_json(verdict) for verdict in verdicts],
        "rules": {
            rule: {"holds": RULES[rule].requirement, "mend": RULES[rule].fix, "docs": docs_anchor(rule)}
            for rule in broken
        },
        "summary": _totals(verdicts),
    }


def _verdict_json(verdict: ValidationResult) -> dict[str, object]:
    cost = verdict.cost
    return {
        "path": verdict.path,
        "name": verdict.name,
        "valid": verdict.valid,
        "findings": [_finding_json(finding) for finding in verdict.findings],
        "tokens": None if cost is None else {"catalogue": cost.catalogue, "body": cost.body, "files": cost.files},
    }


def _finding_json(finding: Finding) -> dict[str, object]:
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "line": finding.line,
        "message": finding.message,
    }


def _fix(chosen: Sequence[Target], *, ask: bool) -> None:
    from skillhub_mcp.validation.apply_fixes import fix_file, write

    mended = [one for target in chosen if (one := fix_file(target)) is not None]
    for one in mended:
        say(_difference(one))
    if not mended:
        say("nothing that can be mended without guessing")
        return
    count = _counted(len(mended), "file")
    if ask and not _agreed(f"Write {count}?"):
        say(f"nothing is written; --yes writes {count}")
        return
    for one in mended:
        write(one)
    say(f"mended {count}\n")


def _agreed(question: str) -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    print(f"{question} [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _difference(one: FixedFile) -> str:
    import difflib

    before, after = (content.decode("utf-8", "backslashreplace") for content in (one.before, one.after))
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), one.path, f"{one.path} ({', '.join(one.rules)})", lineterm="", n=1
    )
    return "\n".join(lines)
