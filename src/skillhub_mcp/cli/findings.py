"""The findings of `validate` and `audit` as text: by file, then by rule."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Protocol

from skillhub_mcp.auditing.rules import AuditFinding
from skillhub_mcp.chosen_roots import roots_of
from skillhub_mcp.cli.console import print_line, print_note, print_text, shown_path, terminal_progress
from skillhub_mcp.cli.library_place import note_publication
from skillhub_mcp.cli.output import plural
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import Settings
from skillhub_mcp.validation.targets import Targets, targets, targets_below

# Lines of findings that are printed without --full.
_SHOWN = 12


class ShownFile(Protocol):
    """A file and its findings, the worst first; each has a rule, severity, message and line."""

    @property
    def path(self) -> str: ...
    @property
    def findings(self) -> Sequence[Any]: ...


def find_targets(paths: Sequence[str], settings: Settings) -> Targets:
    """Return the skills at `paths`, or of the hub's roots, and report what was not searched."""
    if not paths:
        note_publication(settings)
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
    return {
        "rule": one.rule,
        "severity": one.severity.value,
        "file": one.path,
        "line": one.line,
        "message": one.message,
    }


def relative(path: str) -> str:
    """Return a path relative to the working directory if it is inside, else with `~`."""
    inside = os.path.relpath(os.path.abspath(path))
    return shown_path(path) if inside == os.pardir or inside.startswith(os.path.join(os.pardir, "")) else inside


def print_findings(
    files: Sequence[ShownFile], styles: Mapping[Enum, str], fixes: Mapping[str, str], args: argparse.Namespace
) -> None:
    """Print the findings by file, then each rule with its count and fix. `styles` has the worst severity first."""
    order = list(styles)
    width = max(len(str(one.value)) for one in order)
    broken = [file for file in files if file.findings]
    if not args.full:
        broken.sort(key=lambda file: min(order.index(one.severity) for one in file.findings) > 0)
    shown, lines = 0, 0
    for file in broken if not args.statistics else ():
        lines += len(file.findings) + 1
        if lines > _SHOWN and shown and not args.full:
            break
        shown += 1
        _print_file(file, styles, width, None if args.full else _SHOWN)
    left = broken[shown:] if not args.statistics else []
    if left:
        count = sum(len(file.findings) for file in left)
        print_text(f"… {plural(len(left), 'more file')} with {plural(count, 'finding')}: --full lists them")
    found = [one for file in files for one in file.findings]
    counts = Counter(one.rule for one in found)
    worst = {rule: min(order.index(one.severity) for one in found if one.rule == rule) for rule in counts}
    if counts and not args.statistics:
        print_text("")
    number = max((len(f"{count:,}") for count in counts.values()), default=0)
    names = max(map(len, counts), default=0)
    for rule in sorted(counts, key=lambda rule: (worst[rule], -counts[rule], rule)):
        of_rule = order[worst[rule]]
        severity = (f"{of_rule.value:<{width}}", styles[of_rule])
        print_line(f"{counts[rule]:>{number},} ", severity, " ", (f"{rule:<{names}}", "bold"), f"  {fixes[rule]}")
    if counts:
        print_text("")


def _print_file(file: ShownFile, styles: Mapping[Enum, str], width: int, most: int | None) -> None:
    print_line((relative(file.path), "bold"))
    number = max(len(str(one.line or "")) for one in file.findings)
    names = max(len(one.rule) for one in file.findings)
    for one in file.findings[:most]:
        severity = (f"{one.severity.value:<{width}}", styles[one.severity])
        print_line(f"  {one.line or '':>{number}} ", severity, f" {one.rule:<{names}}  {one.message}")
