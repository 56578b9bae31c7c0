"""The known top-level keys of a frontmatter, and repairs of one that YAML refuses, which keep its lines. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

SPECIFIED_KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")

# What each host documents, or shows in its source, as read from a skill's frontmatter. Codex adds no key: it reads
# `agents/openai.yaml` beside the SKILL.md instead.
EXTENSIONS: Mapping[str, tuple[str, ...]] = {
    "agent": ("Claude Code",),
    "argument-hint": ("Claude Code", "VS Code", "SkillHub"),
    "arguments": ("Claude Code",),
    "context": ("Claude Code", "VS Code"),
    "disable-model-invocation": ("Claude Code", "VS Code", "Cursor", "SkillHub"),
    "disallowed-tools": ("Claude Code",),
    "effort": ("Claude Code",),
    "hooks": ("Claude Code",),
    "model": ("Claude Code",),
    "paths": ("Claude Code",),
    "shell": ("Claude Code",),
    "user-invocable": ("Claude Code", "VS Code", "SkillHub"),
    "when_to_use": ("Claude Code",),
}
"""Keys outside the specification that change what a host does, and the hosts that read them at the top level only."""

READ_IN_BOTH_PLACES = ("author", "category", "tags", "version")
"""Keys that SkillHub reads at the top level and under `metadata` alike."""

DESCRIPTIVE_KEYS = frozenset((*READ_IN_BOTH_PLACES, "authors", "homepage", "keywords", "repository"))
"""Keys that only describe a skill: they mean the same under `metadata`, and no host acts on them at the top level."""

_SHORTEST_COMPARED = 8
_CUTOFF = 0.88
_IGNORED = re.compile(r"[-_\s]")
_OTHER_SPELLINGS = {"licence": "license"}


@lru_cache(maxsize=1024)
def meant_key(key: str) -> str | None:
    """Return the key that an unknown `key` misspells; None if it resembles none closely."""
    plain = _plain(key)
    same = _BY_PLAIN.get(plain) or _OTHER_SPELLINGS.get(plain)
    if same is not None or len(plain) < _SHORTEST_COMPARED:
        return same
    long = [other for other in _BY_PLAIN if len(other) >= _SHORTEST_COMPARED]
    near = difflib.get_close_matches(plain, long, n=1, cutoff=_CUTOFF)
    return _BY_PLAIN[near[0]] if near else None


def _plain(key: str) -> str:
    return _IGNORED.sub("", key).lower()


_BY_PLAIN = {_plain(key): key for key in (*SPECIFIED_KEYS, *EXTENSIONS)}


INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060"
"""Characters that show nothing and that editors and web pages leave behind."""

# Blanks that look like a space or a tab and are none to YAML.
_BLANK = "[ \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"
_KEY = re.compile(rf"(?P<indent>{_BLANK}*)(?P<key>[A-Za-z_][\w.-]*){_BLANK}*:(?:{_BLANK}+(?P<value>.*))?$")
# Without a blank after the colon, or with a wide colon, only a specified key: `https://` has the form of any other.
_SPECIFIED_KEY = re.compile(
    rf"(?P<indent>{_BLANK}*)(?P<key>{'|'.join(SPECIFIED_KEYS)}){_BLANK}*[:\uff1a]{_BLANK}*(?P<value>\S.*)$"
)
_NESTED_KEY = re.compile(rf"\A([\w.-]+){_BLANK}*:(?:{_BLANK}*[^\S \n]{_BLANK}*)")
_INDENT = re.compile(rf"{_BLANK}*(?:-{_BLANK}+)*")
_BLOCK_SCALAR = re.compile(r"[|>][+-]?[1-9]?[+-]?[ \t]*(?:#.*)?")
_BLOCK_SIGN = re.compile(r"[|>][+-]?\s+")
# Characters that YAML allows nowhere, not even quoted.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
_REQUIRED = ("name", "description")

Reads = Callable[[str], Mapping[str, object] | None]


@dataclass(frozen=True, slots=True)
class Repaired:
    """A header after its repairs. `lost` says that words of the author had to be left out."""

    header: str
    lost: bool = False


@dataclass(slots=True)
class _Entry:
    """One top-level key with the lines of its value."""

    key: str
    lines: list[str]

    @property
    def value(self) -> str:
        match = _key_line(self.lines[0])
        return "" if match is None else (match["value"] or "").strip()


def repair(header: str, reads: Reads) -> Repaired | None:
    """Return the header with each entry repaired that `reads`, a YAML parser, cannot read; None without entries."""
    crlf = "\r\n" in header
    before, entries = _entries(UNPRINTABLE.sub(" ", header.replace("\r\n", "\n")).split("\n"))
    if not entries:
        return None
    lines, lost = before, any(line.strip() for line in before if not line.lstrip().startswith("#"))
    lines = [line if line.lstrip().startswith("#") else "" for line in lines]
    for entry in entries:
        written = "\n".join(entry.lines)
        if written[:1].isspace() or not _is_read(entry, written, reads):
            for apply in _REPAIRS:
                written = apply(entry, reads)
                if _is_read(entry, written, reads):
                    break
            lost = lost or (entry.key == "name" and any(line.strip() for line in entry.lines[1:]))
        lines.append(written)
    return Repaired("\n".join(lines).replace("\n", "\r\n" if crlf else "\n"), lost)


def quoted(text: str) -> str:
    """Return a text as YAML in single quotes."""
    return "'" + text.replace("'", "''") + "'"


def _is_read(entry: _Entry, written: str, reads: Reads) -> bool:
    values = reads(written)
    if values is None or list(values) != [entry.key]:
        return False
    return entry.key not in _REQUIRED or not isinstance(values[entry.key], dict)


def _key_line(line: str) -> re.Match[str] | None:
    return _KEY.match(line) or _SPECIFIED_KEY.match(line)


def _entries(lines: Sequence[str]) -> tuple[list[str], list[_Entry]]:
    """Return the lines before the first entry, and the entries."""
    before: list[str] = []
    entries: list[_Entry] = []
    for line in lines:
        match = _key_line(line.lstrip(INVISIBLE))
        if match is not None and _starts_entry(match, entries):
            entries.append(_Entry(match["key"], [line.lstrip(INVISIBLE)]))
        elif entries:
            entries[-1].lines.append(line)
        else:
            before.append(line)
    return before, entries


def _starts_entry(match: re.Match[str], entries: Sequence[_Entry]) -> bool:
    """Whether a line with a key starts an entry: it is not indented, or is a required key below a one-line value."""
    if not match["indent"] or not entries:
        return True
    above = entries[-1].value
    is_one_line = bool(above) and above[0] not in "|>[{'\"#"
    return is_one_line and match["key"] in _REQUIRED and all(entry.key != match["key"] for entry in entries)


def _with_plain_blanks(entry: _Entry, _: Reads) -> str:
    """Replace tabs and no-break spaces outside the values, a wide colon, and indentation before the key."""
    written = [f"{entry.key}: {entry.value}".rstrip()]
    for line in entry.lines[1:]:
        start = _start(line)
        plain = "".join("  " if character == "\t" else "-" if character == "-" else " " for character in start)
        written.append(plain + _NESTED_KEY.sub(r"\1: ", line[len(start) :], count=1))
    return "\n".join(written)


def _start(line: str) -> str:
    """Return the indentation of a line and the hyphens of its list items."""
    match = _INDENT.match(line)
    return "" if match is None else match[0]


def _with_values_quoted(entry: _Entry, reads: Reads) -> str:
    """Quote each value on a line of its own that YAML cannot read there."""
    written: list[str] = []
    block: int | None = None
    for line in _with_plain_blanks(entry, reads).split("\n"):
        start = _start(line)
        if block is not None and (not line.strip() or len(start) > block):
            written.append(line)
            continue
        match = _KEY.match(line[len(start) :])
        value = (match["value"] or "" if match else line[len(start) :] if "-" in start else "").strip()
        block = len(start) if _BLOCK_SCALAR.fullmatch(value) else None
        if value and block is None and reads(f"value: {value}") is None:
            written.append(f"{start}{match['key'] + ': ' if match else ''}{quoted(_meant(value))}")
        else:
            written.append(line)
    return "\n".join(written)


def _as_text(entry: _Entry, _: Reads) -> str:
    """Take everything behind the key as one text; a name ends with its line."""
    more = [line.strip() for line in entry.lines[1:]]
    while more and (not more[-1] or more[-1].startswith("#")):
        more.pop()
    blank = [""] * (len(entry.lines) - 1 - len(more))
    if entry.key == "name":
        more, blank = [], [""] * (len(entry.lines) - 1)
    text = "\n".join([entry.value, *more])
    return "\n".join([f"{entry.key}: {quoted(_meant(text.strip())).replace(chr(10), chr(10) + '  ')}", *blank])


# The smallest repair first. After the last one every entry can be read.
_REPAIRS: Sequence[Callable[[_Entry, Reads], str]] = (_with_plain_blanks, _with_values_quoted, _as_text)


def _meant(written: str) -> str:
    """Return the text that an unreadable value stands for: without the quotes around it, or a `>` before it."""
    sign = _BLOCK_SIGN.match(written)
    if sign is not None:
        return written[sign.end() :]
    quote = written[:1]
    if not quote or quote not in "'\"":
        return written
    inner = _unquoted(written, quote)
    if inner is None:
        return written
    return inner.replace('\\"', '"').replace("\\\\", "\\") if quote == '"' else inner.replace("''", "'")


def _unquoted(written: str, quote: str) -> str | None:
    """Return a quoted text without its outer quotes; None if they enclose only its first words."""
    sides = list(_sides(written, quote))
    depth = 0
    for number, opens in enumerate(sides):
        depth += 1 if opens else -1
        if depth == 0 and any(sides[number + 1 :]):
            return None
    if depth > 0:
        return written[1:]
    return written[1:-1] if written.endswith(quote) else None


def _sides(written: str, quote: str) -> Iterator[bool]:
    """Yield for each quote of a text whether it opens (True) or closes (False); apostrophes are neither."""
    for found in re.finditer(quote, written):
        before, after = written[: found.start()][-1:], written[found.end() :][:1]
        if before == "\\":
            continue
        if not before or ((before.isspace() or before in "([{") and after and not after.isspace()):
            yield True
        elif not after or not after.isalnum():
            yield False
