"""Parsing a SKILL.md into a `Skill` with its diagnostics, or into the diagnostics that say why not. No I/O."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from skillhub_mcp.skills.frontmatter import Document, Value, parse
from skillhub_mcp.skills.model import NO_SHAPE, SKILL_FILE, FileStamp, HeaderShape, Skill
from skillhub_mcp.skills.names import is_specified_name
from skillhub_mcp.skills.repairs import EXTENSIONS, READ_IN_BOTH_PLACES, SPECIFIED_KEYS, meant_key
from skillhub_mcp.skills.rules import Diagnostic, violation

# Of a name, a category and a tag: no tool takes a longer one, and many answers repeat it.
MAX_NAME = 256
MAX_SPECIFIED_DESCRIPTION = 1_024
MAX_SPECIFIED_COMPATIBILITY = 500

_TRUE_WORDS = frozenset({"true", "yes", "on", "1"})
_FALSE_WORDS = frozenset({"false", "no", "off", "0"})
_BLANKS = re.compile(r"\s+")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


@dataclass(frozen=True, slots=True)
class ParseResult:
    """The result for one SKILL.md: a skill with its diagnostics, or no skill and the diagnostics that say why."""

    skill: Skill | None
    diagnostics: tuple[Diagnostic, ...]
    body: str
    shape: HeaderShape = NO_SHAPE
    lines: Mapping[str, int] = field(default_factory=dict)


def parse_skill(
    content: bytes, *, directory: str, root: str, directory_name: str, stamp: FileStamp, file_name: str = SKILL_FILE
) -> ParseResult:
    """Parse the bytes of a SKILL.md as the skill in `directory`. Never raises on bad content."""
    document = parse(content)
    if file_name != SKILL_FILE:
        odd = violation("file-name", f"the file is named {file_name}")
        document = replace(document, diagnostics=(odd, *document.diagnostics))
    return read_skill(document, directory=directory, root=root, directory_name=directory_name, stamp=stamp)


def read_skill(document: Document, *, directory: str, root: str, directory_name: str, stamp: FileStamp) -> ParseResult:
    """Return the skill of a parsed SKILL.md."""
    found = list(document.diagnostics)
    if document.values is None:
        return ParseResult(None, tuple(found), document.body)
    name = _name(document, directory_name, found)
    description = _description(document, found)
    found.extend(_unknown_keys(document))
    metadata = _metadata(document, found)
    category, tags, always_apply = _skillhub_metadata(metadata, document, found)
    compatibility = _text(document, "compatibility", found)
    if compatibility is not None and len(compatibility) > MAX_SPECIFIED_COMPATIBILITY:
        line = document.lines.get("compatibility")
        found.append(
            violation("compatibility-length", f"the compatibility has {len(compatibility):,} characters", line=line)
        )
    tools_text = document.values.get("allowed-tools")
    tools = _allowed_tools(document, found)
    license_text = _text(document, "license", found)
    disable_model_invocation = _boolean(document, "disable-model-invocation", found, default=False)
    user_invocable = _boolean(document, "user-invocable", found, default=True)
    diagnostics = tuple(found)
    if not name:
        return ParseResult(None, diagnostics, document.body, _shape(document), document.lines)
    skill = Skill(
        name=name,
        description=description,
        directory=directory,
        root=root,
        category=category,
        tags=tags,
        always_apply=always_apply,
        allowed_tools=tools,
        license=license_text,
        compatibility=compatibility,
        metadata=metadata,
        diagnostics=diagnostics,
        stamp=stamp,
        version=_top_level_or_metadata(document, metadata, "version"),
        author=_top_level_or_metadata(document, metadata, "author"),
        allowed_tools_text=tools_text if isinstance(tools_text, str) else None,
        disable_model_invocation=disable_model_invocation,
        user_invocable=user_invocable,
        argument_hint=_top_level_or_metadata(document, metadata, "argument-hint"),
    )
    return ParseResult(skill, diagnostics, document.body, _shape(document), document.lines)


def allowed_tools(value: Value) -> tuple[str, ...]:
    """Return `allowed-tools` as a tuple. A string is split at blanks and commas outside parentheses."""
    if isinstance(value, list):
        return tuple(text for item in value if isinstance(item, str) and (text := item.strip()))
    return tuple(_split_outside_parentheses(value.strip("[]"))) if isinstance(value, str) else ()


def _allowed_tools(document: Document, found: list[Diagnostic]) -> tuple[str, ...]:
    value = (document.values or {}).get("allowed-tools")
    if isinstance(value, dict):
        line = document.lines.get("allowed-tools")
        found.append(violation("key-type", "allowed-tools is neither a string nor a list", line=line))
    return allowed_tools(value)


def _described(document: Document, metadata: Mapping[str, Value], key: str) -> Value:
    """Return the value of a top-level key, or else of the same key in `metadata`, where the specification puts it."""
    at_top = (document.values or {}).get(key)
    return metadata.get(key) if at_top is None else at_top


def _top_level_or_metadata(document: Document, metadata: Mapping[str, Value], key: str) -> str | None:
    value = _described(document, metadata, key)
    return _one_line(value) or None if isinstance(value, str) else None


def _boolean(document: Document, key: str, found: list[Diagnostic], *, default: bool) -> bool:
    value = (document.values or {}).get(key)
    if value is None:
        return default
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in _TRUE_WORDS or word in _FALSE_WORDS:
        return word in _TRUE_WORDS
    found.append(violation("key-type", f"{key} is neither true nor false", line=document.lines.get(key)))
    return default


def _shape(document: Document) -> HeaderShape:
    header = document.header.removesuffix("\n")
    lines = header.split("\n")
    first = document.lines.get("description", 0) - document.first_line
    after = [at - document.first_line for at in document.lines.values() if at - document.first_line > first]
    others = lines if first < 0 else lines[:first] + lines[min(after, default=len(lines)) :]
    longest = max(others, key=len, default="")
    markup = None
    if "<" in header or ">" in header:
        markup = next((key for key, value in (document.values or {}).items() if _contains_markup(value)), None)
    longest_at = document.first_line + lines.index(longest) if longest else 0
    return HeaderShape(len(lines), len(longest), longest_at, markup)


def _contains_markup(value: Value) -> bool:
    if isinstance(value, str):
        return "<" in value or ">" in value
    if isinstance(value, dict):
        return any(_contains_markup(key) or _contains_markup(item) for key, item in value.items())
    return isinstance(value, list) and any(_contains_markup(item) for item in value)


def _split_outside_parentheses(text: str) -> Iterator[str]:
    depth, word = 0, ""
    for character in text:
        if depth == 0 and (character.isspace() or character == ","):
            if word:
                yield word
            word = ""
            continue
        depth = max(0, depth + (character == "(") - (character == ")"))
        word += character
    if word:
        yield word


def _one_line(text: str) -> str:
    if text.isalnum():
        return text
    return _BLANKS.sub(" ", _CONTROLS.sub(" ", text)).strip()


def _name(document: Document, directory_name: str, found: list[Diagnostic]) -> str:
    line = document.lines.get("name")
    written = _normalised_name(_text(document, "name", found) or "")
    name = written or _normalised_name(directory_name)
    if not written:
        found.append(violation("name-missing", "there is no name", line=line))
    elif name != _normalised_name(directory_name):
        message = f"the name is {name!r}, and the directory is named {directory_name!r}"
        found.append(violation("name-directory", message, line=line))
    if not name:
        found.append(violation("name-unusable", "neither the frontmatter nor the directory gives a name", line=line))
    elif len(name) > MAX_NAME:
        found.append(violation("name-unusable", f"the name has {len(name):,} characters", line=line))
    elif written and not is_specified_name(name):
        message = f"the name {name!r} is not of 1 to 64 lowercase letters, digits and single hyphens"
        found.append(violation("name-form", message, line=line))
    return name


def _normalised_name(text: str) -> str:
    return text if is_specified_name(text) and text.isascii() else _one_line(unicodedata.normalize("NFKC", text))


def _description(document: Document, found: list[Diagnostic]) -> str:
    line = document.lines.get("description")
    description = (_text(document, "description", found) or "").strip()
    if not description:
        found.append(violation("description-missing", "there is no description", line=line))
    elif len(description) > MAX_SPECIFIED_DESCRIPTION:
        found.append(violation("description-length", f"the description has {len(description):,} characters", line=line))
    return description


def _text(document: Document, key: str, found: list[Diagnostic]) -> str | None:
    value = (document.values or {}).get(key)
    if value is None or isinstance(value, str):
        return value
    line = document.lines.get(key)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        found.append(violation("key-type", f"{key} is a list; its items were joined", line=line))
        return " ".join(str(item) for item in value)
    found.append(violation("key-type", f"{key} is not a string", line=line))
    return None


def _unknown_keys(document: Document) -> Iterator[Diagnostic]:
    for key in document.values or {}:
        line = document.lines.get(key)
        if key in SPECIFIED_KEYS:
            continue
        if key in EXTENSIONS:
            *others, last = EXTENSIONS[key]
            readers = f"{', '.join(others)} and {last}" if others else last
            yield violation("key-extension", f"{key!r} is not in the specification; read by {readers}", line=line)
        elif key in READ_IN_BOTH_PLACES:
            message = f"{key!r} is not a specified key; SkillHub reads it under metadata too"
            yield violation("key-unknown", message, line=line)
        elif (meant := meant_key(key)) is not None:
            yield violation("key-misspelt", f"{key!r} is not a known key; did you mean {meant!r}?", line=line)
        else:
            yield violation("key-unknown", f"{key!r} is not a specified key", line=line)


def _metadata(document: Document, found: list[Diagnostic]) -> Mapping[str, Value]:
    metadata = (document.values or {}).get("metadata")
    line = document.lines.get("metadata")
    if metadata is None:
        return {}
    if not isinstance(metadata, dict):
        found.append(violation("key-type", "metadata is not a mapping", line=line))
        return {}
    nested = [key for key, value in metadata.items() if not isinstance(value, str)]
    if nested:
        found.append(violation("metadata-nested", f"metadata.{nested[0]} is not a string", line=line))
    return metadata


def _skillhub_metadata(
    metadata: Mapping[str, Value], document: Document, found: list[Diagnostic]
) -> tuple[str | None, tuple[str, ...], bool]:
    """Return category, tags and alwaysApply from `skillhub.*`, the map `skillhub`, the top level or `metadata`."""
    nested = metadata.get("skillhub")
    inner: Mapping[str, Value] = nested if isinstance(nested, dict) else {}

    def own(key: str) -> Value:
        return metadata.get(f"skillhub.{key}", inner.get(key))

    category, tags_value = own("category"), own("tags")
    if category is None:
        category = _top_level_or_metadata(document, metadata, "category")
    elif not isinstance(category, str):
        found.append(violation("key-type", "the category is not a string", line=document.lines.get("metadata")))
        category = None
    if tags_value is None:
        tags_value = _described(document, metadata, "tags")
    always = own("alwaysApply")
    label, tags = _one_line(category).lower() if category else "", _tags(tags_value)
    longest = max((label, *tags), key=len)
    if len(longest) > MAX_NAME:
        message = f"{'the category' if longest is label else 'a tag'} has {len(longest):,} characters"
        found.append(violation("metadata-length", message, line=document.lines.get("metadata")))
    return (
        label if 0 < len(label) <= MAX_NAME else None,
        tuple(tag for tag in tags if len(tag) <= MAX_NAME),
        isinstance(always, str) and always.strip().lower() in _TRUE_WORDS,
    )


def _tags(value: Value) -> tuple[str, ...]:
    # A list that was repaired is text with its brackets.
    items = value.strip("[]").split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    tags = (_one_line(item).lower() for item in items if isinstance(item, str))
    return tuple(dict.fromkeys(tag for tag in tags if tag))
