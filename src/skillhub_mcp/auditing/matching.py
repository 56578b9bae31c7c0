"""Patterns: what they are, and finding them in a text in time that grows with the text alone. Pure.

A pattern names words of which its text must have one, so that nothing is compiled or searched for in vain. Every
repetition in a pattern is bounded; `tests/auditing/test_matching.py` reads each one's structure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from skillhub_mcp.auditing.rules import AuditFinding, Risk, found
from skillhub_mcp.auditing.text import AuditText, Folded

_SHOWN = 80
# Beyond so many hits that lack what else has to be near, a pattern gives up.
_MATCHES = 2_000


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a rule looks for: `needs` are words of which one has to be there, in small letters, before `expression`.

    `quotable` is what an honest text may cite: in quotation marks, or with words that forbid it, it is less severe.
    With `also`, a second expression has to be there as well, at most `within` characters before or after; without
    `within`, anywhere in the text.
    """

    rule: str
    needs: tuple[str, ...]
    expression: str
    severity: Risk | None = None
    quotable: bool = False
    also: str = ""
    within: int = 0
    unless: str = ""


@lru_cache(maxsize=1024)
def compiled(expression: str) -> re.Pattern[str]:
    """Return the compiled expression."""
    return re.compile(expression)


def matches(patterns: Iterable[Pattern], text: AuditText, folded: Folded) -> Iterator[AuditFinding]:
    """Yield the first finding of each pattern in a folded text."""
    content = folded.text
    # Many patterns need the same words, and looking for these is half of the work.
    present: dict[str, bool] = {}
    for pattern in patterns:
        for word in pattern.needs:
            if word not in present:
                present[word] = word in content
            if present[word]:
                break
        else:
            continue
        hit = _first(pattern, content)
        if hit is None:
            continue
        start, end, quoted = hit
        severity = pattern.severity
        if quoted:
            severity = (severity or found(pattern.rule, "").severity).eased()
        said = content[start:end]
        shown = said if len(said) <= _SHOWN else f"{said[: _SHOWN - 1]}…"
        yield found(pattern.rule, repr(shown), path=text.path, line=folded.line(start), severity=severity)


def _first(pattern: Pattern, content: str) -> tuple[int, int, bool] | None:
    """Return where the pattern first is, and whether it is only cited there; a use comes before a citation."""
    cited: tuple[int, int, bool] | None = None
    for number, hit in enumerate(compiled(pattern.expression).finditer(content)):
        if number == _MATCHES:
            break
        start, end = hit.span()
        if pattern.also and not _is_near(pattern, content, start, end):
            continue
        if pattern.unless and compiled(pattern.unless).search(content, max(0, start - _SHOWN), end + _SHOWN):
            continue
        if not (pattern.quotable and _is_cited(content, start)):
            return start, end, False
        cited = cited or (start, end, True)
    return cited


def _is_near(pattern: Pattern, content: str, start: int, end: int) -> bool:
    if not pattern.within:
        return compiled(pattern.also).search(content) is not None
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
