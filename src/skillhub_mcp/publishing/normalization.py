"""Normalization of a SKILL.md for hosts that require the specification. Bytes in, bytes out; no I/O.

A conforming SKILL.md is published byte for byte. Any other is published with its frontmatter rewritten in the
specification's form and its body unchanged, and the changes are reported. Nothing is invented: a skill that could only
conform with invented values is withheld, with the reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import yaml

from skillhub_mcp.publishing.portable_yaml import Json, read_portable
from skillhub_mcp.sanitize import in_frontmatter, shortened
from skillhub_mcp.skills.frontmatter import Document, Value, parse
from skillhub_mcp.skills.parser import MAX_SPECIFIED_COMPATIBILITY, MAX_SPECIFIED_DESCRIPTION, allowed_tools

_TEXTS = ("license", "compatibility")
# Some parsers do not recognize a fence with trailing blanks.
_OPENED = re.compile(rb"(?:\xef\xbb\xbf)?---\r?\n")
_CLOSED = re.compile(rb"\n---(?:\r?\n)?\Z")
_PLAIN_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
# Most YAML parsers reject longer keys.
_MAX_KEY = 1_000
_SHOWN_CHARACTERS = 100
_SHOWN_KEYS = 5
_NOT_PLAIN_KEYS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
# Characters that JSON writes literally and YAML allows only as escapes.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class PublishedDocument:
    """A SKILL.md as published. `changes` describe the differences to the original, if any."""

    frontmatter: Mapping[str, Json]
    content: bytes
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Withheld:
    """Why a skill cannot be published to hosts that read skills natively."""

    reason: str


def published_document(content: bytes, name: str) -> PublishedDocument | Withheld:
    """Return the SKILL.md with `content` as it is published under `name`, or why it is withheld."""
    document = parse(content)
    if document.values is None:
        return Withheld("its SKILL.md can no longer be read")
    broken = any(diagnostic.rule in ("yaml-repaired", "yaml-words-lost") for diagnostic in document.diagnostics)
    try:
        verbatim = read_portable(document.as_read)
    except yaml.YAMLError:
        return Withheld("YAML parsers do not agree on its frontmatter")
    frontmatter = dict(verbatim.values)
    changes = [*_of_the_file(content, document, broken=broken), *_to_the_specification(frontmatter, document, name)]
    if not isinstance(frontmatter.get("description"), str):
        return Withheld("it has no description")
    if verbatim.doubts and not broken:
        shown = _some([_key_shown(key) for key in sorted(verbatim.doubts) if key]) or "the frontmatter"
        changes.append(f"{shown}: rewritten so that all YAML parsers agree")
    harmless = {in_frontmatter(key): _in_frontmatter(value) for key, value in frontmatter.items()}
    if harmless != frontmatter:
        hiding = [_key_shown(key) for key, value in frontmatter.items() if harmless.get(key) != value]
        changes.append(f"{_some(hiding)}: without what cannot be seen, and without tags of a hub or host")
        frontmatter = harmless
    if not changes:
        return PublishedDocument(frontmatter, content, ())
    if any(len(_quoted(key)) > _MAX_KEY for key in _all_keys(frontmatter)):
        return Withheld(f"its frontmatter has a key of more than {_MAX_KEY:,} characters")
    written = _written(frontmatter, document.body)
    return PublishedDocument(frontmatter, written, () if written == content else tuple(changes))


def is_text(content: bytes) -> bool:
    """Whether bytes are UTF-8 without NUL, so that sending them as text preserves them."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in content


def _of_the_file(content: bytes, document: Document, *, broken: bool) -> Iterator[str]:
    if not is_text(content):
        yield "the file: converted to UTF-8"
    elif not (_OPENED.match(content) and _CLOSED.search(content.removesuffix(document.body.encode()))):
        yield "the frontmatter: enclosed in two bare lines ---, starting on the first line"
    if broken:
        yield "the frontmatter: rewritten as valid YAML"


def _to_the_specification(frontmatter: dict[str, Json], document: Document, name: str) -> Iterator[str]:
    """Convert the specified keys to their types and lengths, and yield the changes."""
    written = document.values or {}
    if frontmatter.get("name") != name:
        given = _as_text(written.get("name"))
        if not given:
            yield f"name: {name!r} added"
        elif given == name:
            yield "name: a string"
        else:
            yield f"name: {name!r} instead of {_shown(given)}"
        rest = {key: value for key, value in frontmatter.items() if key != "name"}
        frontmatter.clear()
        frontmatter.update({"name": name, **rest})
    yield from _description(frontmatter, written.get("description"))
    for key in _TEXTS:
        yield from _text(frontmatter, key, written.get(key))
    if "allowed-tools" in frontmatter and not _is_text(frontmatter["allowed-tools"]):
        tools = allowed_tools(written["allowed-tools"])
        yield from _replaced(frontmatter, "allowed-tools", " ".join(tools), "a string instead of a list")
    yield from _metadata(frontmatter, written.get("metadata"))


def _description(frontmatter: dict[str, Json], written: Value) -> Iterator[str]:
    if "description" in frontmatter and not _is_text(frontmatter["description"]):
        yield from _replaced(frontmatter, "description", _as_text(written), "a string")
    description = frontmatter.get("description")
    if isinstance(description, str) and len(description) > MAX_SPECIFIED_DESCRIPTION:
        frontmatter["description"] = shortened(description, MAX_SPECIFIED_DESCRIPTION)
        yield f"description: the first {MAX_SPECIFIED_DESCRIPTION:,} of {len(description):,} characters"


def _text(frontmatter: dict[str, Json], key: str, written: Value) -> Iterator[str]:
    if key not in frontmatter:
        return
    if not _is_text(frontmatter[key]):
        yield from _replaced(frontmatter, key, _as_text(written), "a string")
    text = frontmatter.get(key)
    if key == "compatibility" and isinstance(text, str) and len(text) > MAX_SPECIFIED_COMPATIBILITY:
        frontmatter[key] = shortened(text, MAX_SPECIFIED_COMPATIBILITY)
        yield f"{key}: the first {MAX_SPECIFIED_COMPATIBILITY:,} of {len(text):,} characters"


def _metadata(frontmatter: dict[str, Json], written: Value) -> Iterator[str]:
    if "metadata" not in frontmatter:
        return
    given = frontmatter["metadata"]
    if not isinstance(given, dict) or not isinstance(written, dict):
        del frontmatter["metadata"]
        yield "metadata: removed, since it is not a mapping"
        return
    if all(isinstance(value, str) for value in given.values()):
        return
    flat = dict(_flattened(written))
    frontmatter["metadata"] = flat
    changed = [f"{_kind(value)} in {_key_shown(key)}" for key, value in given.items() if not isinstance(value, str)]
    yield f"metadata: strings instead of {_some(changed)}"


def _kind(value: Json) -> str:
    return "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else "a value"


def _flattened(values: Mapping[str, Value], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flattened(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", _as_text(value)


def _replaced(frontmatter: dict[str, Json], key: str, text: str, form: str) -> Iterator[str]:
    if in_frontmatter(text).strip():
        frontmatter[key] = text
        yield f"{key}: {form}"
    else:
        # The specification does not allow an empty value.
        del frontmatter[key]
        yield f"{key}: removed, since it has no text"


def _is_text(value: Json) -> bool:
    # What is left of a text of control characters alone is empty.
    return isinstance(value, str) and bool(in_frontmatter(value).strip())


def _as_text(value: Value) -> str:
    """Return a frontmatter value as a string: a list of strings joined by commas, a nested value as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(str(item) for item in value)
    return json.dumps(value, ensure_ascii=False)


def _in_frontmatter(value: Json) -> Json:
    if isinstance(value, str):
        return in_frontmatter(value)
    if isinstance(value, dict):
        return {in_frontmatter(key): _in_frontmatter(item) for key, item in value.items()}
    return [_in_frontmatter(item) for item in value] if isinstance(value, list) else value


def _some(things: Sequence[str]) -> str:
    return ", ".join([*things[:_SHOWN_KEYS], "…"] if len(things) > _SHOWN_KEYS else things)


def _key_shown(key: str) -> str:
    return key if len(key) <= _SHOWN_CHARACTERS and _PLAIN_KEY.fullmatch(key) else _shown(key)


def _shown(text: str) -> str:
    """Return a skill's text for display: shortened, and without terminal control characters."""
    return repr(shortened(text, _SHOWN_CHARACTERS))


def _all_keys(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _all_keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from _all_keys(item)


def _written(frontmatter: Mapping[str, Json], body: str) -> bytes:
    lines = [f"{_key(key)}: {_quoted(value)}\n" for key, value in frontmatter.items()]
    return "".join(["---\n", *lines, "---\n", body]).encode("utf-8", "replace")


def _key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) and key.lower() not in _NOT_PLAIN_KEYS else _quoted(key)


def _quoted(value: Json) -> str:
    """Return `value` as JSON that YAML reads as the same value."""
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
