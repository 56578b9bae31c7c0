"""What `validate` and `audit` share: options, the skills to check, and findings by file and by rule."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from skillhub_mcp._util.wording import plural
from skillhub_mcp.chosen_roots import roots_of
from skillhub_mcp.cli.console import print_line, print_note, print_text, terminal_progress
from skillhub_mcp.cli.output import EXIT_OK, print_json
from skillhub_mcp.environment import shown_path
from skillhub_mcp.settings import Settings
from skillhub_mcp.validation.sarif import ShownFile, ShownRule, explaining_command, sarif
from skillhub_mcp.validation.targets import Targets, targets, targets_below

# Lines of findings that are printed without --full.
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class RuleBook:
    """The rules of a command by id, a page about them, and the style of each severity, the worst first."""

    command: str
    about: str
    styles: Mapping[str, str]
    rules: Mapping[str, ShownRule]

    def add_options(self, parser: argparse.ArgumentParser, *, example: str, fail_on: str) -> None:
        """Add the shared options; `example` is the beginning of the names of several rules."""
        parser.add_argument("paths", nargs="*", metavar="PATH", help="skill, or directory of skills (default: all)")
        several = f"only these; '{example}' is {example}-…"
        parser.add_argument("--select", action="append", default=[], metavar="RULES", help=several)
        parser.add_argument("--ignore", action="append", default=[], metavar="RULES", help="all but these rules")
        shown = parser.add_mutually_exclusive_group()
        shown.add_argument("--full", action="store_true", help="print every finding")
        shown.add_argument("--list-rules", action="store_true", help="print the rules instead, with their fixes")
        shown.add_argument("--sarif", action="store_true", help="print SARIF 2.1.0, for code hosts")
        least = "minimum severity for exit code 1 (default: %(default)s)"
        parser.add_argument("--fail-on", choices=list(self.styles), default=fail_on, help=least)

    def print_rules(self, chosen: frozenset[str], *, as_json: bool) -> int:
        """Print the chosen rules, each with its fix, and return the exit code."""
        rules = [rule for rule in self.rules.values() if rule.id in chosen]
        if as_json:
            return print_json({"rules": [rule._asdict() for rule in rules]})
        for rule in rules:
            print_text(f"{rule.id} ({rule.severity}; {rule.source})\n      {rule.text}\n      fix: {rule.fix}")
        return EXIT_OK

    def report(
        self,
        args: argparse.Namespace,
        files: Sequence[ShownFile],
        skills: Sequence[Mapping[str, Any]],
        totals: Mapping[str, int],
        sought: Targets,
        summary: str,
    ) -> None:
        """Print SARIF or text about `files`, or JSON about `skills`, as the options ask for."""
        if args.sarif:
            print_json(sarif(files, self.rules, command=self.command, about=self.about, base=os.getcwd()))
        elif args.json:
            found = (one for skill in skills for one in (*skill["findings"], *skill.get("accepted", ())))
            rules = {
                rule: self.rules[rule]._asdict() | {"explained_by": explaining_command(rule, self.command)}
                for rule in sorted({one["rule"] for one in found})
            }
            skipped = [asdict(one) for one in sought.skipped]
            print_json({"skills": skills, "rules": rules, "summary": totals, "skipped": skipped})
        else:
            self._print_findings(files, full=args.full)
            print_text(summary)

    def _print_findings(self, files: Sequence[ShownFile], *, full: bool) -> None:
        """Print the findings by file, those with the worst first, then each rule with its count and fix."""
        order = list(self.styles)
        width = max(map(len, order))
        broken = [file for file in files if file.findings]
        if not full:
            broken.sort(key=lambda file: all(one.severity.value != order[0] for one in file.findings))
        lines, left = 0, 0
        for file in broken:
            lines += len(file.findings) + 1
            if lines > _SHOWN and not full and file is not broken[0]:
                left += 1
                continue
            print_line((relative(file.path), "bold"))
            shown = file.findings if full else file.findings[:_SHOWN]
            number, name = max(len(str(one.line or "")) for one in shown), max(len(one.rule) for one in shown)
            for one in shown:
                severity = (f"{one.severity.value:<{width}}", self.styles[one.severity.value])
                print_line(f"  {one.line or '':>{number}} ", severity, f" {one.rule:<{name}}  {one.message}")
        if left:
            print_text(f"… {plural(left, 'more file')}: --full lists them")
        if not broken:
            return
        print_text("")
        found = [one for file in broken for one in file.findings]
        counts = Counter(one.rule for one in found)
        # The worst comes last, and stays.
        by_severity = sorted(found, key=lambda one: order.index(one.severity.value), reverse=True)
        worst = {one.rule: one.severity.value for one in by_severity}
        number, name = len(str(max(counts.values()))), max(map(len, counts))
        for rule in sorted(counts, key=lambda rule: (order.index(worst[rule]), -counts[rule], rule)):
            severity = (f"{worst[rule]:<{width}}", self.styles[worst[rule]])
            fix = f"  {self.rules[rule].fix}"
            print_line(f"{counts[rule]:>{number}} ", severity, " ", (f"{rule:<{name}}", "bold"), fix)
        print_text("")


def find_targets(paths: Sequence[str], settings: Settings) -> Targets:
    """Return the skills at `paths`, or of the hub's roots, and report what was not searched."""
    with terminal_progress("looking for skills"):
        sought = targets(paths) if paths else targets_below(roots_of(settings))
    for one in sought.skipped:
        holds = f" holds {plural(one.skills, 'skill')}" if one.skills else ""
        print_note(f"not searched: {one.path}{holds} ({one.reason}); pass its path to read it")
    if not sought.found:
        print_note("No SKILL.md was found below the hub's roots; give the path of a skill, or of a directory of skills")
    return sought


def relative(path: str) -> str:
    """Return a path relative to the working directory if it is inside, else with `~`."""
    inside = os.path.relpath(os.path.abspath(path))
    return shown_path(path) if inside == os.pardir or inside.startswith(os.path.join(os.pardir, "")) else inside
