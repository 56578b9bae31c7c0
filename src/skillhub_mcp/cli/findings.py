"""The findings of `validate` and `audit` as lines of text: by file, by rule, and as many as fit a screen."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from itertools import accumulate, islice
from typing import Protocol

from skillhub_mcp.cli.colours import Colour, Painter
from skillhub_mcp.cli.output import plural, print_note
from skillhub_mcp.cli.screen import Screen
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.skills.rules import RULES, Severity
from skillhub_mcp.validation.targets import Skipped

# The blank line between the findings and the table of rules, the one after it, the line about the rest, the total, the
# hint at --fix, and the prompt.
_OTHER_LINES = 6


class ShownFinding(Protocol):
    """A finding as far as it is printed. Of the severities' enumeration, the first is the worst."""

    @property
    def rule(self) -> str: ...
    @property
    def severity(self) -> Enum: ...
    @property
    def message(self) -> str: ...
    @property
    def line(self) -> int | None: ...


class ShownFile(Protocol):
    """A file and its findings, the worst first."""

    @property
    def path(self) -> str: ...
    @property
    def findings(self) -> Sequence[ShownFinding]: ...


def note_skipped(skipped: Sequence[Skipped]) -> None:
    """Say on standard error which directories with skills were not searched."""
    for one in skipped:
        holds = f" holds {plural(one.skills, 'skill')}" if one.skills else ""
        print_note(f"not searched: {in_line(one.path)}{holds} ({one.reason}); pass its path to read it")


def skipped_json(skipped: Sequence[Skipped]) -> list[dict[str, object]]:
    """Return the directories that were not searched, for `--json`."""
    return [asdict(one) for one in skipped]


_VALIDATION_FIXES = {rule.id: rule.fix for rule in RULES.values()}
_VALIDATION_COLOURS: Mapping[Enum, Colour] = {
    Severity.ERROR: Colour.RED,
    Severity.WARNING: Colour.YELLOW,
    Severity.NOTE: Colour.CYAN,
}


@dataclass(frozen=True, slots=True)
class FindingsText:
    """Text for findings. `base` is the directory that paths are relative to, and `paint` colours the text.

    `fixes` say by rule how to fix what it found, and `colours` are those of the severities, the worst first.
    """

    base: str
    paint: Painter
    fixes: Mapping[str, str] = field(default_factory=lambda: _VALIDATION_FIXES)
    colours: Mapping[Enum, Colour] = field(default_factory=lambda: _VALIDATION_COLOURS)

    def by_file(self, results: Sequence[ShownFile]) -> Iterator[str]:
        """Yield the lines for every finding, grouped by file."""
        for result in results:
            yield from self._group(result, self.paint)

    def that_fit(self, results: Sequence[ShownFile], screen: Screen) -> Iterator[str]:
        """Yield the lines for as many files as fit the screen beside the table of rules, and what is left out.

        If not all fit, those with the worst findings come first.
        """
        plain = Painter()
        room = screen.lines - _OTHER_LINES - sum(map(screen.height, self.by_rule(results, plain)))
        whole_room = room
        broken = [result for result in results if result.findings]
        if sum(len(result.findings) + 1 for result in broken) <= room:
            lines = [line for result in broken for line in self._group(result, plain)]
            if sum(map(screen.height, lines)) <= room:
                yield from self.by_file(broken)
                return
        order = list(self.colours)
        broken.sort(key=lambda result: min(order.index(finding.severity) for finding in result.findings) > 0)
        shown = 0
        for result in broken:
            room -= sum(map(screen.height, self._group(result, plain)))
            if room < 0:
                break
            shown += 1
            yield from self._group(result, self.paint)
        left = broken[shown:]
        if not shown:
            # One file may have more findings than fit: its worst are better than none.
            heights = accumulate(map(screen.height, self._group(left[0], plain)))
            fitting = sum(height <= whole_room for height in heights)
            yield from islice(self._group(left[0], self.paint), fitting)
        count = sum(len(result.findings) for result in left)
        more = "more " if shown else ""
        yield self.paint(f"… {plural(len(left), f'{more}file')} with {plural(count, 'finding')}: --full lists them")

    def by_rule(self, results: Sequence[ShownFile], paint: Painter | None = None) -> Iterator[str]:
        """Yield a line for each rule that is broken, the worst and the most frequent first, with its fix."""
        paint = paint or self.paint
        counts = Counter(finding.rule for result in results for finding in result.findings)
        order = list(self.colours)
        worst: dict[str, int] = {}
        for finding in (finding for result in results for finding in result.findings):
            worst[finding.rule] = min(order.index(finding.severity), worst.get(finding.rule, len(order)))
        rules = sorted(counts, key=lambda rule: (worst[rule], -counts[rule], rule))
        number = max((len(f"{count:,}") for count in counts.values()), default=0)
        width = max(map(len, rules), default=0)
        for rule in rules:
            yield (
                f"{counts[rule]:>{number},} {self._severity(order[worst[rule]], paint)} "
                f"{paint(f'{rule:<{width}}', Colour.BOLD)}  {paint(self.fixes[rule])}"
            )

    def path(self, path: str) -> str:
        """Return a path relative to the base if it is inside, else whole."""
        relative = os.path.relpath(os.path.abspath(path), self.base)
        return path if relative == os.pardir or relative.startswith(os.path.join(os.pardir, "")) else relative

    def _group(self, result: ShownFile, paint: Painter) -> Iterator[str]:
        if not result.findings:
            return
        yield paint(self.path(result.path), Colour.BOLD)
        number = max(len(str(finding.line or "")) for finding in result.findings)
        width = max(len(finding.rule) for finding in result.findings)
        for finding in result.findings:
            yield (
                f"  {finding.line or '':>{number}} "
                f"{self._severity(finding.severity, paint)} "
                f"{finding.rule:<{width}}  {paint(finding.message)}"
            )

    def _severity(self, severity: Enum, paint: Painter) -> str:
        width = max(len(str(one.value)) for one in self.colours)
        return paint(f"{severity.value:<{width}}", self.colours[severity])
