"""Whether a text gives an order, or quotes, forbids, detects or comments on one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from skillhub_mcp.auditing.rules import Risk
from skillhub_mcp.auditing.text import AuditText, Folded
from skillhub_mcp.skills.model import SKILL_FILE

_BEFORE = 110
_AFTER = 60
# A label is looked for in so many lines above a hit, a heading in so many.
_LINES = 40
_HEADED_LINES = 400
# Whole words: a host name or `task` does not cite.
_CITING = re.compile(
    r"\b(?:e\.g\.|such as|like|for example|(?<![@./-])examples?(?![-.]\w)|attempts?|attacks?|injection|malicious|"
    r"adversar\w{0,8}|payloads?|phrases?|patterns?|detect\w{0,4}|refus\w{0,4}|reject\w{0,4}|red flags?|suspicious|"
    r"contain\w{0,4}|claim\w{0,4}|says?|saying|asks?|asking|tells?|telling|instruct(?:s|ed|ing)|tries|trying|try to|"
    r"untrusted|treat)[^.!?]{0,80}$"
    r"|\b(?:do not|don't|never|must not|cannot|can't|avoid|no attempt to|should not) (?:\w{1,14} ){0,3}[`\"'(]{0,2}$"
    r"|\b(?:do not|don't|never|must not|cannot|should not) (?:\w{1,12} ){0,2}(?:accept|act on|allow|believe|comply|"
    r"execute|fall for|follow|honou?r|obey|trust)\b[^.!?]{0,80}$"
)
_DISCOURAGED = re.compile(r"[^.!?]{0,30}\((?:not recommended|discouraged|dangerous|unsafe)")
# A heading, a label or the name of a pattern under which an attack is described.
_DESCRIBED = re.compile(
    r"attack|inject|exploit|vulnerab|malicious|jailbreak|adversar|obfuscat|exfiltrat|escalation|reverse shell|threat|"
    r"\bioc|compromis|payload|dangerous|\bhunt|\bpoc\b|bypass|detect|red flag|suspicious|indicator|anti-?pattern|"
    r"unsafe|insecure|untrusted|poison|steal|harvest|malware|cannot|can't|must not|do(?:es)? not|don't|never|avoid|"
    r"forbidden|limitation|pitfall|\bcanary|\bhoney|\bdecoy|❌|🔴"
)
# A heading over a fenced block that shows what comes out, and runs nothing.
_OUTPUT = re.compile(r"output format|(?:example|sample|expected) (?:output|report)")
# A line that is a pattern for a scanner: YARA, a regular expression, a row of a rule table.
_PATTERN = re.compile(
    r"\bnocase\b|\b(?:ascii|wide)$|\bre\.(?:compile|search|match)\b|\\[bsdw][+*]?|\(\?:|= ?/.{3,200}/|\.\*|"
    r"\w\|\w{2,20}\|\w|critical\b.{0,4}\|"
)
_COMMENT = re.compile(r"(?:^|\s)(?:#(?!!)|//|/?\*+ |-- |;;|rem |<!--)")
_PRINTED = re.compile(r"\b(?:echo|print\w{0,3}|console\.\w{1,8}|say|puts|write\w{0,5})\b")
_HEADING = re.compile(r"(#{1,6}) ")
_LABEL = re.compile(r":\*{0,3}$|^\**[^*]{3,60}\*\*:?$")
_OPENED = re.compile(r"[\w\])\"'] ?[:=] ?\w{0,20}[\[({]$")
_YAML_VALUE = re.compile(r"^\s*[\w.-]+:\s*[\"']")
_BETWEEN = r"[\s*_`#>\"“”«»„~|\\/-]+"
_PAIRS = (('"', '"'), ("`", "`"), ("“", "”"), ("«", "»"), ("„", "“"), ("「", "」"))


def eased(severity: Risk, text: AuditText, folded: Folded, start: int, end: int, *, near: bool) -> Risk:
    """Return the severity of a hit in `folded`, less if the text cites it; `near` looks at the words around it only."""
    content = folded.text
    if _CITING.search(content, max(0, start - _BEFORE), start) or _DISCOURAGED.match(content, end, end + _AFTER):
        return severity.eased()
    if severity is Risk.CRITICAL and not near:
        at = folded.line(start) - text.first_line
        is_said = folded is text.prose and _is_quoted(text, at, content[start:end])
        if is_said or _is_remark(text, at, content[start:end]) or described(text, at):
            return Risk.HIGH
    return severity


def _is_quoted(text: AuditText, at: int, said: str) -> bool:
    """Whether the words are quoted, apart from quotes that YAML or a printing command needs."""
    lines = text.lines[max(0, at - 5) : at + 4]
    window = "\n".join(lines).lower()
    words = re.search(_BETWEEN.join(map(re.escape, said.split()[:8])), window, re.DOTALL)
    if words is None or (text.is_frontmatter(at) and _YAML_VALUE.match(text.lines[at])):
        return False
    before = window[: words.start()].rpartition("\n\n")[2]
    if _PRINTED.search(before.rpartition("\n")[2]):
        return False
    after = window[words.start() :].partition("\n\n")[0]
    for opening, closing in _PAIRS:
        opened = before.count(opening) % 2 if opening == closing else before.count(opening) > before.count(closing)
        if opened and closing in after:
            return True
    return re.search(r"(?:^|[\s(\[{=,:])'[^'\n]{0,120}$", before) is not None and "'" in after


def _is_remark(text: AuditText, at: int, said: str) -> bool:
    """Whether the line is a comment in code, or a pattern that a scanner looks for."""
    line = text.lines[at].lower() if at < len(text.lines) else ""
    if _PATTERN.search(line):
        return True
    if text.is_prose and not text.fenced[at]:
        return False
    words = said.split()
    start = line.find(words[0]) if words else -1
    return _COMMENT.search(line, 0, start if start >= 0 else len(line)) is not None


def described(text: AuditText, at: int) -> bool:
    """Whether a heading, the label of a list or a block, or a table's head says that the line describes an attack."""
    above = list(_above(text, at))
    is_output = text.is_prose and text.fenced[at] and any(map(_OUTPUT.search, above))
    return is_output or any(map(_DESCRIBED.search, above))


def _above(text: AuditText, at: int) -> Iterator[str]:
    """Yield the label and the headings above a line of Markdown, or the line that opens the list of a line of code."""
    if not text.is_prose:
        yield from islice(
            (one.lower() for one in reversed(text.lines[max(0, at - _LINES) : at]) if _OPENED.search(one)), 1
        )
        return
    is_labelled, level = False, 6
    for number in range(at - 1, max(-1, at - _HEADED_LINES), -1):
        line = text.lines[number].strip().lower()
        heading = _HEADING.match(line)
        if heading and not text.fenced[number]:
            if len(heading[1]) <= level and (len(heading[1]) > 1 or text.path != SKILL_FILE):
                yield line
            level = min(level, len(heading[1]) - 1)
            is_labelled = True
        elif not is_labelled and at - number < _LINES:
            is_head = line.startswith("|") and not text.lines[number - 1].strip().startswith("|")
            is_remark = text.fenced[number] and _COMMENT.match(line) is not None
            if is_head or is_remark or _LABEL.search(line):
                yield line
                is_labelled = not is_head
