"""Finding the table's patterns in a text, in time that grows with the text alone. Pure.

Every repetition in a pattern is bounded; `tests/auditing/test_matching.py` reads each one's structure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from skillhub_mcp.auditing.rules import AUDIT_RULES, AuditFinding, Pattern, Risk, found
from skillhub_mcp.auditing.text import AuditText, Folded

_SHOWN = 80
# A pattern gives up after so many hits that are not near what it needs.
_MATCHES = 2_000


@lru_cache(maxsize=1024)
def compiled(expression: str) -> re.Pattern[str]:
    """Return the compiled expression."""
    return re.compile(expression)


def matches(text: AuditText, *, code: bool = False) -> Iterator[AuditFinding]:
    """Yield the worst finding of each pattern in a text, including those for `code` if it is some."""
    for rule in AUDIT_RULES.values():
        yield from _of_patterns(rule.id, rule.prose, text, text.prose)
        yield from _of_patterns(rule.id, rule.commands, text, text.code)
        if code:
            yield from _of_patterns(rule.id, rule.code, text, text.code)


def _of_patterns(rule: str, patterns: tuple[Pattern, ...], text: AuditText, folded: Folded) -> Iterator[AuditFinding]:
    for pattern in patterns:
        if any(word in folded.text for word in pattern.needs.split("|")):
            hit = _worst(pattern, AUDIT_RULES[rule].severity, folded.text)
            if hit is not None:
                severity, start, end = hit
                said = folded.text[start:end]
                shown = said if len(said) <= _SHOWN else f"{said[: _SHOWN - 1]}…"
                yield found(rule, repr(shown), path=text.path, line=folded.line(start), severity=severity)


def _worst(pattern: Pattern, gravest: Risk, content: str) -> tuple[Risk, int, int] | None:
    """Return the severity, start and end of the first of the gravest hits."""
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
        severity = gravest if is_grave else pattern.severity or gravest
        if _is_cited(content, start):
            severity = severity.eased()
        if worst is None or severity.rank < worst[0].rank:
            worst = severity, start, end
    return worst


def _is_near(pattern: Pattern, content: str, start: int, end: int) -> bool:
    return compiled(pattern.also).search(content, max(0, start - pattern.within), end + pattern.within) is not None


# Whole words: the name of a host, or a `task`, cites nothing.
_CITING = (
    r"\b(?:e\.g\.|such as|like|for example|(?<![@./-])examples?(?![-.]\w)|attempts?|attacks?|injection|malicious|"
    r"adversar\w{0,8}|payloads?|phrases?|patterns?|detect\w{0,4}|refus\w{0,4}|reject\w{0,4}|red flags?|suspicious|"
    r"contain\w{0,4}|claim\w{0,4}|says?|saying|asks?|asking|tells?|telling|instruct(?:s|ed|ing)|tries|trying|untrusted|"
    r"treat)[^.!?]{0,80}$"
    r"|\b(?:do not|don't|never|must not|cannot|can't|avoid|no attempt to|should not) (?:\w{1,14} ){0,3}[`\"'(]{0,2}$"
)
_BEFORE = 110


def _is_cited(content: str, start: int) -> bool:
    return compiled(_CITING).search(content, max(0, start - _BEFORE), start) is not None
