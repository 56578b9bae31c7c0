"""Fixes that need no guessing; every other line stays as it is.

A fix is kept only if the result has fewer of its violations, no more of others, and the same values and body.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

import yaml

from skillhub_mcp.skills.frontmatter import Document, decode, parse
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.names import safe_alias
from skillhub_mcp.skills.parser import read_skill
from skillhub_mcp.skills.repairs import INVISIBLE
from skillhub_mcp.validation.moved_keys import as_under_metadata, double_quoted, under_metadata

# The key and its value in quotes or plain, without the comment behind it.
_NAME = re.compile(r"""^(name:[ \t]+)(?:"[^"\n]*"|'[^'\n]*'|[^\s"'#].*?)(?=[ \t]*(?:[ \t]#.*)?\r?$)""", re.MULTILINE)
_FENCE = re.compile(r"-{3,}|\+{3,}")
_SEPARATORS = re.compile(r"[\s_-]+")


@dataclass(frozen=True, slots=True)
class Fixed:
    """A SKILL.md's bytes after fixing, and the rules whose violations are fixed."""

    content: bytes
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Subject:
    """A text that is being fixed, and how it is read."""

    text: str
    document: Document
    skill: Skill | None
    violations: Counter[str]
    directory_name: str

    def with_header(self, header: str) -> str:
        """Return the text with another header."""
        start = self.document.header_start
        return self.text[:start] + header + self.text[start + len(self.document.header) :]

    def with_name(self, written: str) -> str:
        """Return the text with another value for `name`, unchanged if it has none on the key's line."""
        return self.with_header(_NAME.sub(lambda found: found[1] + written, self.document.header, count=1))


def fix(content: bytes, directory_name: str, rules: Collection[str] | None = None) -> Fixed:
    """Fix violations of `rules`, or of all, in a SKILL.md. Never raises on bad content."""
    text, found = decode(content)
    encodings = [diagnostic.rule for diagnostic in found if rules is None or diagnostic.rule in rules]
    if text is None or (found and not encodings):
        # A file in another encoding cannot be written without converting it.
        return Fixed(content, ())
    fixed = list(encodings)
    subject = _subject(text, directory_name)
    for rule, apply in _FIXES.items():
        if rule not in subject.violations or (rules is not None and rule not in rules):
            continue
        after = _subject(apply(subject), directory_name)
        if _is_safe(subject, after, rule):
            fixed.append(rule)
            subject = after
    if not fixed:
        return Fixed(content, ())
    bom = "\ufeff" if content.startswith(b"\xef\xbb\xbf") else ""
    return Fixed((bom + subject.text).encode("utf-8"), tuple(fixed))


def renamed(content: bytes, name: str) -> bytes | None:
    """Return a SKILL.md under another valid name; None if its name cannot be replaced alone."""
    text, found = decode(content)
    if text is None or found:
        return None
    subject = _subject(text, name)
    if subject.skill is None or subject.skill.name == name:
        return None if subject.skill is None else content
    after = _subject(subject.with_name(double_quoted(name)), name)
    if after.skill is None or after.skill.name != name or after.document.body != subject.document.body:
        return None
    return (b"\xef\xbb\xbf" if content.startswith(b"\xef\xbb\xbf") else b"") + after.text.encode("utf-8")


def _subject(text: str, directory_name: str) -> _Subject:
    # With a byte order mark, so that none in the text is taken for it.
    document = parse(("\ufeff" + text).encode())
    read = read_skill(document, directory="", directory_name=directory_name)
    violations = Counter(one.rule for one in read.diagnostics)
    return _Subject(text, document, read.skill, violations, directory_name)


def _is_safe(before: _Subject, after: _Subject, rule: str) -> bool:
    """Whether a fix removes violations of its rule, causes no others, and keeps the values and the body."""
    old, new = before.document.values, after.document.values
    if old is None or new is None or before.document.body != after.document.body:
        return False
    if after.violations[rule] >= before.violations[rule] or not after.violations <= before.violations:
        return False
    if rule == "name-form":
        old, new = {**old, "name": None}, {**new, "name": None}
    if rule == "key-unknown":
        old, new = as_under_metadata(old), as_under_metadata(new)
    return old == new and _compared(before.skill, rule) == _compared(after.skill, rule)


def _compared(skill: Skill | None, rule: str) -> Skill | None:
    if skill is None:
        return None
    compared = replace(skill, diagnostics=(), metadata={})
    return replace(compared, name="") if rule == "name-form" else compared


def _without_text_before(subject: _Subject) -> str:
    """Remove what precedes the frontmatter, unless the author wrote sentences there."""
    document = subject.document
    start, *comments = document.before.split("<!--")
    rest = "".join((start, *(one.partition("-->")[2] if "-->" in one else one for one in comments)))
    rest = rest.strip("\r\n \t" + INVISIBLE)
    if any(line.strip() and not line.lstrip().startswith(("#", "```", "~~~")) for line in rest.splitlines()):
        return subject.text
    closing = document.header_start + len(document.header)
    fence = subject.text[closing : _end_of_fences(subject)].lstrip(" \t")
    return subject.text[len(document.before) : closing] + fence + document.body


def _end_of_fences(subject: _Subject) -> int:
    """Return where the line of the closing fence ends."""
    closing = subject.document.header_start + len(subject.document.header)
    end = subject.text.find("\n", closing) + 1
    return end or len(subject.text)


def _with_plain_fences(subject: _Subject) -> str:
    """Write both fences as three hyphens, and a TOML header without comments as YAML."""
    document, text = subject.document, subject.text
    header = document.header
    if document.is_toml:
        if "#" in header:
            return text
        written = yaml.safe_dump(document.values, allow_unicode=True, sort_keys=False, width=math.inf)
        header = written.replace("\n", "\r\n") if "\r\n" in header else written
    opening = text[len(document.before) : document.header_start]
    closing = text[document.header_start + len(document.header) : _end_of_fences(subject)]
    plain = [_FENCE.sub("---", fence, count=1) for fence in (opening, closing)]
    rest = text[_end_of_fences(subject) :]
    return f"{document.before}{plain[0]}{header}{plain[1]}{rest}"


def _quoted(subject: _Subject) -> str:
    """Quote the values that the parser cannot read as written."""
    document = subject.document
    return subject.text if document.lossy else subject.with_header(document.as_read)


def _with_conforming_name(subject: _Subject) -> str:
    """Replace the name by its alias if only case, blanks or underscores differ, or if the directory has that name."""
    name = (subject.document.values or {}).get("name")
    if not isinstance(name, str):
        return subject.text
    alias = safe_alias(name)
    differs_in_form = _SEPARATORS.sub("-", name.strip()).strip("-").lower() == alias
    if not alias or not (differs_in_form or alias == subject.directory_name):
        return subject.text
    return subject.with_name(alias)


_FIXES: Mapping[str, Callable[[_Subject], str]] = {
    "frontmatter-late": _without_text_before,
    "frontmatter-fence": _with_plain_fences,
    "yaml-repaired": _quoted,
    "yaml-words-lost": _quoted,
    "name-form": _with_conforming_name,
    "key-unknown": lambda subject: subject.with_header(under_metadata(subject.document)),
}
FIXABLE_RULES = ("file-name", "file-encoding", "file-line-ends", *_FIXES)
