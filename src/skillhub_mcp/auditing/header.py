"""What a frontmatter asks for: tools, hooks, and a place in every conversation. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from skillhub_mcp.auditing.characters import LOOK_ALIKES
from skillhub_mcp.auditing.rules import AuditFinding, Risk, found
from skillhub_mcp.skills.frontmatter import Document
from skillhub_mcp.skills.model import Skill

_LATIN_LETTER = re.compile("[a-z]")
_EVERYTHING = frozenset({"*", "all", "any", "*:*"})
_EVERY_COMMAND = re.compile(r"(?i)(?:bash|shell|execute|terminal|run_?command|powershell)\s?\(\s?\*?(?::\*|\s\*)?\s?\)")
_EVERY_SHELL = re.compile(r"(?i)(?:bash|shell)")
_DYNAMIC = re.compile(r"(?:^|[\s:(])!`[^`\n]{1,400}`")
_NETWORK = re.compile(r"(?i)\b(?:curl|wget|nc|ncat|iwr|invoke-webrequest|base64|ssh)\b|https?://")
# Orders to an agent, as no description needs that says what a skill does and when to use it.
_ORDERS = re.compile(
    r"(?i)\b(?:you must|must (?:always|never|call|use|load|obey)|always (?:obey|call|use this|load this|invoke|follow)|never (?:call|use|load|mention|tell|ask)|"
    r"ignore|disregard|override|overrides|take precedence|do not (?:tell|mention|use any other)|obey|before every (?:answer|response|reply|task|tool))\b"
)
_NEVER_PINNED = re.compile(
    r"(?i)\b(?:obey|(?:always|must) (?:call|load|invoke) this (?:skill|tool) (?:first|before)|never (?:call|use|load) any other|overrides? the user|"
    r"ignore (?:all )?(?:other|previous) (?:skills?|instructions?|tools?))\b"
)
_TRUE = ("true", "yes", "on", "1")


def header_findings(skill: Skill, document: Document, text: str) -> Iterator[AuditFinding]:
    """Report what the frontmatter of `skill` asks for, whose SKILL.md has this `text`."""
    values, lines, body = document.values or {}, document.lines, document.body
    yield from _tools(skill, lines.get("allowed-tools"))
    if _LATIN_LETTER.search(skill.name) and any(ord(letter) in LOOK_ALIKES for letter in skill.name):
        yield found("name-look-alike", f"{skill.name!a} mixes letters of two scripts", line=lines.get("name"))
    hooks = values.get("hooks")
    if hooks:
        severity = Risk.CRITICAL if _NETWORK.search(json.dumps(hooks, default=str)[:20_000]) else None
        yield found("hooks", "hooks in the frontmatter", line=lines.get("hooks"), severity=severity)
    dynamic = _DYNAMIC.search(body)
    if dynamic is not None:
        severity = Risk.HIGH if _NETWORK.search(dynamic[0]) else Risk.LOW
        line = 1 + text.count("\n") - body.count("\n", dynamic.start())
        message = f"a command that runs on loading: {dynamic[0].strip()[:60]!r}"
        yield found("hooks", message, line=line, severity=severity)
    pinned = skill.always_apply or str(values.get("alwaysApply", "")).strip().lower() in _TRUE
    order = (_ORDERS if pinned else _NEVER_PINNED).search(skill.description[:4_096])
    if order is not None:
        yield found("pinned-imperative", f"the description says {order[0]!r}", line=lines.get("description"))


def _tools(skill: Skill, line: int | None) -> Iterator[AuditFinding]:
    for tool in skill.allowed_tools:
        plain = tool.strip().lower()
        if plain in _EVERYTHING:
            yield found("tools-broad", f"{tool!r} allows every tool", line=line, severity=Risk.HIGH)
            return
        if _EVERY_COMMAND.fullmatch(plain):
            yield found("tools-broad", f"{tool!r} allows every shell command", line=line, severity=Risk.HIGH)
            return
    if any(_EVERY_SHELL.fullmatch(tool.strip()) for tool in skill.allowed_tools):
        yield found("tools-broad", "'Bash' allows every shell command", line=line, severity=Risk.LOW)
