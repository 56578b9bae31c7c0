"""What `validate` and `audit` share: options, the skills to check, and findings by file and by rule."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from skillhub_mcp._util.wording import plural
from skillhub_mcp.auditing.rules import AuditFinding
from skillhub_mcp.chosen_roots import roots_of
from skillhub_mcp.cli.console import print_line, print_note, print_text, terminal_progress
from skillhub_mcp.cli.output import print_json
from skillhub_mcp.environment import shown_path
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import Settings
from skillhub_mcp.validation.sarif import ShownFile, ShownRule, explaining_command
from skillhub_mcp.validation.targets import Targets, targets, targets_below

# Lines of findings that are printed without --full.
_SHOWN = 12


def add_rule_options(parser: argparse.ArgumentParser, *, example: str) -> None:
    """Add the shared options; `example` is the beginning of the names of several rules."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="skill, or directory of skills (default: all)")
    parser.add_argument(
        *("--select",), action="append", default=[], metavar="RULES", help=f"only these; '{example}' is {example}-…"
    )
    parser.add_argument("--ignore", action="append", default=[], metavar="RULES", help="all but these rules")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--full", action="store_true", help="print every finding")
    shown.add_argument("--list-rules", action="store_true", help="print the rules instead, with their fixes")
    shown.add_argument("--sarif", action="store_true", help="print SARIF 2.1.0, for code hosts")


def find_targets(paths: Sequence[str], settings: Settings) -> Targets:
    """Return the skills at `paths`, or of the hub's roots, and report what was not searched."""
    with terminal_progress("looking for skills"):
        sought = targets(paths) if paths else targets_below(roots_of(settings))
    for one in sought.skipped:
        holds = f" holds {plural(one.skills, 'skill')}" if one.skills else ""
        print_note(f"not searched: {in_line(one.path)}{holds} ({one.reason}); pass its path to read it")
    if not sought.found:
        print_note("No SKILL.md was found below the hub's roots; give the path of a skill, or of a directory of skills")
    return sought


def finding_json(one: AuditFinding) -> dict[str, object]:
    """Return a finding of the audit as JSON values."""
    known = {"rule": one.rule, "severity": one.severity.value, "file": one.path}
    return known | {"line": one.line, "message": one.message}


def relative(path: str) -> str:
    """Return a path relative to the working directory if it is inside, else with `~`."""
    inside = os.path.relpath(os.path.abspath(path))
    return shown_path(path) if inside == os.pardir or inside.startswith(os.path.join(os.pardir, "")) else inside


def print_rules(rules: Sequence[ShownRule], *, as_json: bool) -> None:
    """Print the rules, each with its fix."""
    if as_json:
        print_json({"rules": [rule._asdict() for rule in rules]})
        return
    for rule in rules:
        print_text(f"{rule.id} ({rule.severity}; {rule.source})\n      {rule.text}\n      fix: {rule.fix}")


def rules_json(used: Collection[str], rules: Mapping[str, ShownRule], command: str) -> dict[str, object]:
    """Return the rules that findings name, each with the command that explains it."""
    return {rule: rules[rule]._asdict() | {"explained_by": explaining_command(rule, command)} for rule in sorted(used)}


def print_findings(
    files: Sequence[ShownFile], styles: Mapping[str, str], rules: Mapping[str, ShownRule], *, full: bool
) -> None:
    """Print the findings by file, then each rule with its count and fix. `styles` has the worst severity first."""
    order = list(styles)
    broken = [file for file in files if file.findings]
    if not full:
        broken.sort(key=lambda file: all(one.severity.value != order[0] for one in file.findings))
    width, lines, left = max(map(len, order)), 0, 0
    for file in broken:
        lines += len(file.findings) + 1
        if lines > _SHOWN and not full and file is not broken[0]:
            left += 1
            continue
        print_line((relative(file.path), "bold"))
        shown = file.findings if full else file.findings[:_SHOWN]
        number, name = max(len(str(one.line or "")) for one in shown), max(len(one.rule) for one in shown)
        for one in shown:
            severity = (f"{one.severity.value:<{width}}", styles[one.severity.value])
            print_line(f"  {one.line or '':>{number}} ", severity, f" {one.rule:<{name}}  {one.message}")
    if left:
        print_text(f"… {plural(left, 'more file')}: --full lists them")
    found = [(one.rule, one.severity.value) for file in broken for one in file.findings]
    counts = Counter(rule for rule, _ in found)
    worst = {rule: min((severity for name, severity in found if name == rule), key=order.index) for rule in counts}
    if counts:
        print_text("")
    number, name = max(map(len, map(str, counts.values())), default=0), max(map(len, counts), default=0)
    for rule in sorted(counts, key=lambda rule: (order.index(worst[rule]), -counts[rule], rule)):
        severity = (f"{worst[rule]:<{width}}", styles[worst[rule]])
        print_line(f"{counts[rule]:>{number}} ", severity, " ", (f"{rule:<{name}}", "bold"), f"  {rules[rule].fix}")
    if counts:
        print_text("")
