"""Fixes that need no guessing. Text in, text out; every other line stays as it is. No I/O.

A fix is kept only if, when the result is read again, its violation is gone and no other value has changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from skillhub_mcp.skills.frontmatter import Document, Value, decode, parse, repaired
from skillhub_mcp.skills.model import FileStamp
from skillhub_mcp.skills.names import safe_alias
from skillhub_mcp.skills.parser import parse_skill
from skillhub_mcp.validation.verdict import findings

_KEY_LINE = re.compile(r"[A-Za-z_][\w.-]*:(?:\s|$)")
_PART_OF_A_VALUE = re.compile(r"[ \t]+\S|-[ \t]")
_NAME_LINE = re.compile(r"^(name:[ \t]*)(.*?)([ \t]*\r?)$", re.MULTILINE)
_SEPARATORS = re.compile(r"[\s_-]+")
_NO_STAMP = FileStamp(0, 0, "", 0)
_OWN_KEYS = ("category", "tags", "alwaysApply")


@dataclass(frozen=True, slots=True)
class Fixed:
    """A SKILL.md's bytes after fixing, and the rules whose violations are fixed; no rules if nothing was fixed."""

    content: bytes
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Subject:
    """A text that is being fixed: its document, the rules it violates, and its directory's name."""

    text: str
    document: Document
    rules: frozenset[str]
    directory_name: str


def fix(content: bytes, directory_name: str) -> Fixed:
    """Fix what can be fixed in a SKILL.md without guessing. Never raises on bad content."""
    text, found = decode(content)
    if text is None:
        return Fixed(content, ())
    fixed: list[str] = []
    subject = _subject(text, directory_name)
    if found:
        fixed += [diagnostic.rule for diagnostic in found]
    for rule, apply in _FIXES.items():
        if rule not in subject.rules:
            continue
        after = _subject(apply(subject), directory_name)
        if rule not in after.rules and after.rules <= subject.rules and _same_meaning(subject, after, rule):
            fixed.append(rule)
            subject = after
    if not fixed:
        return Fixed(content, ())
    bom = "\ufeff" if content.startswith(b"\xef\xbb\xbf") else ""
    return Fixed((bom + subject.text).encode("utf-8"), tuple(fixed))


def _subject(text: str, directory_name: str) -> _Subject:
    content = text.encode("utf-8", "surrogatepass")
    document = parse(content)
    read = parse_skill(content, directory="", root="", directory_name=directory_name, stamp=_NO_STAMP)
    return _Subject(text, document, frozenset(one.rule for one in findings(read.diagnostics)), directory_name)


def _same_meaning(before: _Subject, after: _Subject, rule: str) -> bool:
    """Whether what was readable still has the same values and body, apart from what `rule` concerns."""
    if after.document.values is None:
        return False
    if before.document.values is None:
        # Only the closing fence was missing, so there are no values to compare.
        return True
    old, new = dict(before.document.values), dict(after.document.values)
    if rule in ("name-form", "name-directory"):
        old.pop("name", None), new.pop("name", None)
    if rule == "metadata-nested":
        old["metadata"], new["metadata"] = _flat(old.get("metadata")), _flat(new.get("metadata"))
    return old == new and before.document.body == after.document.body


def _without_blanks_before(subject: _Subject) -> str:
    return subject.text.lstrip("\r\n \t")


def _with_closing_fence(subject: _Subject) -> str:
    """Close the frontmatter before the first line that does not belong to it: a blank line or a heading."""
    lines = subject.text.split("\n")
    ending = "\r" if lines[0].endswith("\r") else ""
    for number, line in enumerate(lines[1:], 1):
        plain = line.rstrip("\r")
        if _KEY_LINE.match(plain) or _PART_OF_A_VALUE.match(plain):
            continue
        clear = number > 1 and (not plain.strip() or plain.startswith("# "))
        return "\n".join([*lines[:number], f"---{ending}", *lines[number:]]) if clear else subject.text
    return subject.text


def _quoted(subject: _Subject) -> str:
    """Quote the values that the parser cannot read as written."""
    header = subject.document.header
    return subject.text.replace(header, repaired(header), 1)


def _with_conforming_name(subject: _Subject) -> str:
    """Replace the name by its safe alias if only case, blanks or underscores differ, or if the directory has it."""
    name = (subject.document.values or {}).get("name")
    if not isinstance(name, str):
        return subject.text
    alias = safe_alias(name)
    differs_in_form = _SEPARATORS.sub("-", name.strip()).strip("-").lower() == alias
    if not alias or not (differs_in_form or alias == subject.directory_name):
        return subject.text
    header = subject.document.header
    fixed = _NAME_LINE.sub(lambda line: f"{line[1]}{alias}{line[3]}", header, count=1)
    return subject.text.replace(header, fixed, 1)


def _with_flat_metadata(subject: _Subject) -> str:
    """Replace the nested `metadata.skillhub` by the flat keys `skillhub.category` and so on."""
    metadata = (subject.document.values or {}).get("metadata")
    nested = metadata.get("skillhub") if isinstance(metadata, dict) else None
    if not isinstance(nested, dict) or not nested.keys() <= set(_OWN_KEYS):
        return subject.text
    lines = subject.document.header.split("\n")
    ending = "\r" if lines[0].endswith("\r") else ""
    start = next((at for at, line in enumerate(lines) if re.fullmatch(r"[ \t]+skillhub:[ \t]*\r?", line)), None)
    if start is None:
        return subject.text
    indent = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
    end = start + 1
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith(indent + " ")):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    if any("#" in line for line in lines[start:end]):
        # Rewriting would lose the comment.
        return subject.text
    flat = [f"{indent}skillhub.{key}: {_double_quoted(_as_text(value))}{ending}" for key, value in nested.items()]
    fixed = "\n".join([*lines[:start], *flat, *lines[end:]])
    return subject.text.replace(subject.document.header, fixed, 1)


def _flat(metadata: Value) -> Value:
    """Return metadata in its flat form, so that both forms can be compared."""
    if not isinstance(metadata, dict):
        return metadata
    nested = metadata.get("skillhub")
    rest: dict[str, Value] = {key: value for key, value in metadata.items() if key != "skillhub"}
    inner: Mapping[str, Value] = nested if isinstance(nested, dict) else {}
    return {**{f"skillhub.{key}": _as_text(value) for key, value in inner.items()}, **rest}


def _as_text(value: Value) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return "" if value is None else str(value)


def _double_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_FIXES: Mapping[str, Callable[[_Subject], str]] = {
    "frontmatter-late": _without_blanks_before,
    "frontmatter-unclosed": _with_closing_fence,
    "yaml-repaired": _quoted,
    "name-form": _with_conforming_name,
    "metadata-nested": _with_flat_metadata,
}
FIXABLE_RULES = ("file-encoding", *_FIXES)
