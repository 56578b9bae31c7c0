"""Text that a reader does not see or cannot read: comments, invisible elements, and encoded runs, decoded. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator

from skillhub_mcp.auditing.citations import described
from skillhub_mcp.auditing.matching import matches
from skillhub_mcp.auditing.rules import AuditFinding, Risk, found
from skillhub_mcp.auditing.text import AuditText

# Words after which hidden text addresses an agent, or acts.
_ADDRESSES = re.compile(
    r"\b(?:assistant|ai agents?|agents?|llms?|language model|the model|claude|gpt|copilot|chatbot)s?\b ?[:,!]?.{0,60}"
    r"\b(?:must|should|have to|has to|shall|need to|please|always|never|do not|don't|ignore|execute|run|read|send|include|"
    r"upload|append|add|call|before|you)\b"
    r"|\b(?:hidden|secret)[ -](?:instructions?|directives?|commands?|tasks?)\b"
    r"|\b(?:before|when|while|after) (?:you )?(?:answering|responding|reading|review\w{0,3}|read)\b.{0,60}\b(?:silently|secretly|execute|run|send|upload|fetch)\b"
    r"|\b(?:add|send|include|append|attach|forward|upload|post) (?:the )?user'?s\b"
    r"|\byou (?:must|have to|shall) (?:ignore|send|execute|run|upload|never|read|include)\b"
)
_STYLE = re.compile(
    r"<(\w{1,10})\b[^<>]{0,120}(?:display: ?none|visibility: ?hidden|font-size: ?0(?![.\d]*[1-9])|opacity: ?0(?:[;\"' ]|$)|color: ?(?:white|#fff(?:fff)?|transparent)\b|\bhidden\b)[^<>]{0,120}>",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"^ {0,3}\[(?://|comment|_metadata_|#|\^?_)[^\]\n]{0,40}\]: ?(?:#|<>|/)?[^\n]{0,1200}$", re.MULTILINE
)
_LONGEST = 4_000
# No honest page has so many.
_MOST_HIDDEN = 500
# Beyond so many runs of a kind, the rest is not decoded.
_MOST_RUNS = 200
_READABLE = 0.92
_LONG_RUN = 600

_DECODERS: tuple[tuple[re.Pattern[str], Callable[[str], bytes]], ...] = (
    (
        re.compile(r"(?<![A-Za-z0-9+/=_.-])[A-Za-z0-9+/]{32,8192}={0,2}(?![A-Za-z0-9+/])"),
        lambda run: base64.b64decode(f"{run}=="),
    ),
    (
        re.compile(r"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{2}){24,4096}(?![0-9A-Fa-f])|(?:\\x[0-9A-Fa-f]{2}){12,2048}"),
        lambda run: bytes.fromhex(run.replace("\\x", "")),
    ),
    (
        re.compile(r"(?<![\d.,])(?:[0-9]{2,3}, ?){11,2048}[0-9]{2,3}(?![\d.])"),
        lambda run: bytes(map(int, run.split(","))),
    ),
    (re.compile(r"(?:\\[01]?[0-7]{2}){8,2048}"), lambda run: bytes(int(code, 8) for code in run.split("\\")[1:])),
)


def hidden_findings(text: AuditText) -> Iterator[AuditFinding]:
    """Report comments and invisible elements of a Markdown text that act, or address an agent."""
    for number, (start, content) in enumerate(_hidden_texts(text.raw)):
        if number == _MOST_HIDDEN:
            yield found("hidden-comment", f"more than {number:,} hidden texts", path=text.path, severity=Risk.HIGH)
            break
        inner = AuditText(text.path, content, text.line_at(start))
        if text.fenced[inner.first_line - text.first_line]:
            # A fenced block shows what it holds.
            continue
        worst = min((finding.severity.rank for finding in matches(inner)), default=Risk.LOW.rank)
        if worst <= Risk.HIGH.rank:
            severity = Risk.CRITICAL
        elif _ADDRESSES.search(inner.prose.text):
            severity = Risk.HIGH
        else:
            continue
        message = f"hidden text: {inner.prose.text[:60].strip()!r}"
        yield found("hidden-comment", message, path=text.path, line=inner.first_line, severity=severity)


def _hidden_texts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the start and the text of each comment and invisible element, each up to 4,000 characters."""
    at = text.find("<!--")
    while at >= 0:
        end = text.find("-->", at + 4)
        end = len(text) if end < 0 else end
        yield at, text[at + 4 : min(end, at + _LONGEST)]
        at = text.find("<!--", end)
    for reference in _REFERENCE.finditer(text):
        yield reference.start(), reference[0]
    for opened in _STYLE.finditer(text):
        end = text.find(f"</{opened[1]}", opened.end(), opened.end() + _LONGEST)
        if end > 0:
            yield opened.start(), text[opened.end() : end]


def encoded_findings(text: AuditText) -> Iterator[AuditFinding]:
    """Report encoded runs that are hostile once decoded, and long ones that cannot be read."""
    for pattern, decode in _DECODERS:
        for number, run in enumerate(pattern.finditer(text.raw)):
            if number == _MOST_RUNS:
                message = f"more than {number:,} encoded runs"
                yield found("encoded-text", message, path=text.path, severity=Risk.MEDIUM)
                break
            if not (run[0].isalpha() and (run[0].islower() or run[0].isupper())):  # a long word or identifier
                yield from _run_findings(text, run.start(), run[0], _decoded(decode, run[0]))


def _run_findings(text: AuditText, start: int, run: str, said: str) -> Iterator[AuditFinding]:
    line = text.line_at(start)
    worst = min(matches(AuditText(text.path, said)), key=lambda one: one.severity.rank, default=None)
    if worst is not None and worst.severity.rank <= Risk.HIGH.rank:
        message = f"encoded text that says {worst.message} ({worst.rule})"
        is_described = worst.severity is Risk.CRITICAL and described(text, line - text.first_line)
        severity = Risk.HIGH if is_described else worst.severity
        yield found("encoded-text", message, path=text.path, line=line, severity=severity)
    # Lists of numbers are common.
    elif len(run) >= _LONG_RUN and (said or "," not in run):
        message = f"{len(run):,} encoded characters"
        yield found("encoded-text", message, path=text.path, line=line, severity=Risk.MEDIUM)


def _decoded(decode: Callable[[str], bytes], run: str) -> str:
    """Return the text of a run, empty if it is not readable."""
    try:
        content = decode(run)
    except ValueError:
        return ""
    for encoding in ("utf-8", "utf-16-le"):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        printable = sum(character.isprintable() or character in "\r\n\t" for character in text)
        ascii_share = sum(character < "\x80" for character in text)
        if text and min(printable, ascii_share) >= _READABLE * len(text):
            return text
    return ""
