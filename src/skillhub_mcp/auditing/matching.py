"""Finding the table's patterns in a text. Pure. Every repetition is bounded, so time grows with the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from skillhub_mcp.auditing.citations import eased
from skillhub_mcp.auditing.rules import AUDIT_RULES, AuditFinding, Pattern, Risk, Where, found
from skillhub_mcp.auditing.text import AuditText, Folded
from skillhub_mcp.sanitize import shortened

_SHOWN = 80
# After so many hits without their context, a pattern gives up.
_MATCHES = 2_000
# For so many hits of a pattern, the lines around a hit are examined.
_CITATIONS = 200


@lru_cache(maxsize=1024)
def compiled(expression: str) -> re.Pattern[str]:
    """Return the compiled expression."""
    return re.compile(expression)


def matches(text: AuditText) -> Iterator[AuditFinding]:
    """Yield the worst finding of each pattern in a text."""
    for rule in AUDIT_RULES.values():
        for pattern in rule.patterns:
            folded = text.prose if pattern.where is Where.PROSE else text.code
            is_sought = pattern.where is not Where.CODE or not text.is_prose
            if is_sought and _has_any(folded.text, pattern.needs):
                hit = _worst(pattern, rule.severity, text, folded)
                if hit is not None:
                    severity, start, end = hit
                    said = repr(shortened(folded.text[start:end], _SHOWN))
                    yield found(rule.id, said, path=text.path, line=folded.line(start), severity=severity)


def _has_any(text: str, words: str) -> bool:
    # A loop is faster than a generator: more than a thousand words are looked for.
    for word in words.split("|"):  # noqa: SIM110 - as above
        if word in text:
            return True
    return False


def _worst(pattern: Pattern, gravest: Risk, text: AuditText, folded: Folded) -> tuple[Risk, int, int] | None:
    """Return the severity, start and end of the first of the gravest hits."""
    content = folded.text
    worst: tuple[Risk, int, int] | None = None
    for number, hit in enumerate(compiled(pattern.expression).finditer(content)):
        start, end = hit.span()
        if number == _MATCHES or (worst is not None and worst[0] is gravest):
            break
        near = max(0, start - pattern.within), end + pattern.within
        if pattern.also and not compiled(pattern.also).search(content, *near):
            continue
        if pattern.unless and compiled(pattern.unless).search(content, max(0, start - _SHOWN), end + _SHOWN):
            continue
        is_grave = pattern.grave and compiled(pattern.grave).search(content, start, end)
        severity = gravest if is_grave else pattern.severity or gravest
        severity = eased(severity, text, folded, start, end, near=number >= _CITATIONS)
        if worst is None or severity.rank < worst[0].rank:
            worst = severity, start, end
    return worst
