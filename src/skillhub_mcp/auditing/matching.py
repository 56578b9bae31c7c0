"""Finding the table's patterns in a text, in time that grows with the text alone. Pure.

Every repetition in a pattern is bounded; `tests/auditing/test_matching.py` reads each one's structure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from skillhub_mcp.auditing.citations import eased
from skillhub_mcp.auditing.rules import AUDIT_RULES, AuditFinding, Pattern, Risk, found
from skillhub_mcp.auditing.text import AuditText, Folded

_SHOWN = 80
# A pattern gives up after so many hits that are not near what it needs.
_MATCHES = 2_000
# The lines around a hit are read for so many hits of a pattern.
_CITATIONS = 200


@lru_cache(maxsize=1024)
def compiled(expression: str) -> re.Pattern[str]:
    """Return the compiled expression."""
    return re.compile(expression)


def matches(text: AuditText) -> Iterator[AuditFinding]:
    """Yield the worst finding of each pattern in a text."""
    for rule in AUDIT_RULES.values():
        yield from _of_patterns(rule.id, rule.prose, text, text.prose)
        yield from _of_patterns(rule.id, rule.commands, text, text.code)
        if not text.is_prose:
            yield from _of_patterns(rule.id, rule.code, text, text.code)


def _of_patterns(rule: str, patterns: tuple[Pattern, ...], text: AuditText, folded: Folded) -> Iterator[AuditFinding]:
    for pattern in patterns:
        hit = None
        # A loop and no generator: more than a thousand words are looked for, and few are found.
        for word in pattern.needs.split("|"):
            if word in folded.text:
                hit = _worst(pattern, AUDIT_RULES[rule].severity, text, folded)
                break
        if hit is not None:
            severity, start, end = hit
            said = folded.text[start:end]
            shown = said if len(said) <= _SHOWN else f"{said[: _SHOWN - 1]}…"
            yield found(rule, repr(shown), path=text.path, line=folded.line(start), severity=severity)


def _worst(pattern: Pattern, gravest: Risk, text: AuditText, folded: Folded) -> tuple[Risk, int, int] | None:
    """Return the severity, start and end of the first of the gravest hits."""
    content = folded.text
    worst: tuple[Risk, int, int] | None = None
    for number, hit in enumerate(compiled(pattern.expression).finditer(content)):
        start, end = hit.span()
        if number == _MATCHES or (worst is not None and worst[0] is gravest):
            break
        if pattern.also and not _is_near(pattern, content, start, end):
            continue
        if pattern.unless and compiled(pattern.unless).search(content, max(0, start - _SHOWN), end + _SHOWN):
            continue
        is_grave = pattern.grave and compiled(pattern.grave).search(content, start, end)
        severity = eased(
            gravest if is_grave else pattern.severity or gravest, text, folded, start, end, near=number >= _CITATIONS
        )
        if worst is None or severity.rank < worst[0].rank:
            worst = severity, start, end
    return worst


def _is_near(pattern: Pattern, content: str, start: int, end: int) -> bool:
    return compiled(pattern.also).search(content, max(0, start - pattern.within), end + pattern.within) is not None
