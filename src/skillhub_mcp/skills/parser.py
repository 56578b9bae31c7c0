"""Parsing a SKILL.md into a `Skill` with its diagnostics, or into the diagnostics that say why not. No I/O."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from skillhub_mcp.skills.frontmatter import Document, Value, parse
from skillhub_mcp.skills.model import NO_SHAPE, NO_STAMP, SKILL_FILE, FileStamp, HeaderShape, Skill
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
    content: bytes,
    *,
    directory: str,
    directory_name: str,
    root: str = "",
    stamp: FileStamp = NO_STAMP,
    file_name: str = SKILL_FILE,
) -> ParseResult:
    """Parse the bytes of a SKILL.md as the skill in `directory`. Never raises on bad content."""
    document = parse(content)
    if file_name != SKILL_FILE:
        odd = violation("file-name", f"the file is named {file_name}")
        document = replace(document, diagnostics=(odd, *document.diagnostics))
    return read_skill(document, directory=directory, root=root, directory_name=directory_name, stamp=stamp)


def read_skill(
    document: Document, *, directory: str, directory_name: str, root: str = "", stamp: FileStamp = NO_STAMP
) -> ParseResult:
    """Return the skill of a parsed SKILL.md."""
    if document.values is None:
        return ParseResult(None, document.diagnostics, document.body)
    header = _Header(document)
    name = header.name(directory_name)
    description = header.description()
    header.check_keys()
    header.check_metadata()
    category, tags, always_apply = header.skillhub_metadata()
    compatibility = header.text("compatibility")
    if compatibility is not None and len(compatibility) > MAX_SPECIFIED_COMPATIBILITY:
        message = f"the compatibility has {len(compatibility):,} characters"
        header.report("compatibility", "compatibility-length", message)
    tools = header.values.get("allowed-tools")
    if isinstance(tools, dict):
        header.report("allowed-tools", "key-type", "allowed-tools is neither a string nor a list")
    license_text = header.text("license")
    disable_model_invocation = header.boolean("disable-model-invocation", default=False)
    user_invocable = header.boolean("user-invocable", default=True)
    diagnostics = tuple(header.found)
    skill = None
    if name:
        skill = Skill(
            name=name,
            description=description,
            directory=directory,
            root=root,
            category=category,
            tags=tags,
            always_apply=always_apply,
            allowed_tools=allowed_tools(tools),
            license=license_text,
            compatibility=compatibility,
            metadata=header.metadata,
            diagnostics=diagnostics,
            stamp=stamp,
            version=header.described_text("version"),
            author=header.described_text("author"),
            allowed_tools_text=tools if isinstance(tools, str) else None,
            disable_model_invocation=disable_model_invocation,
            user_invocable=user_invocable,
            argument_hint=header.described_text("argument-hint"),
        )
    return ParseResult(skill, diagnostics, document.body, _shape(document), document.lines)


class _Header:
    """Reads the values of a frontmatter, and collects in `found` what is wrong with them."""

    def __init__(self, document: Document) -> None:
        self.values = document.values or {}
        self.found = list(document.diagnostics)
        self._lines = document.lines
        metadata = self.values.get("metadata")
        self.metadata: Mapping[str, Value] = metadata if isinstance(metadata, dict) else {}

    def report(self, key: str, rule: str, message: str) -> None:
        self.found.append(violation(rule, message, line=self._lines.get(key)))

    def name(self, directory_name: str) -> str:
        written = _normalised_name(self.text("name") or "")
        name = written or _normalised_name(directory_name)
        if not written:
            self.report("name", "name-missing", "there is no name")
        elif name != _normalised_name(directory_name):
            message = f"the name is {name!r}, and the directory is named {directory_name!r}"
            self.report("name", "name-directory", message)
        if not name:
            self.report("name", "name-unusable", "neither the frontmatter nor the directory gives a name")
        elif len(name) > MAX_NAME:
            self.report("name", "name-unusable", f"the name has {len(name):,} characters")
        elif written and not is_specified_name(name):
            message = f"the name {name!r} is not of 1 to 64 lowercase letters, digits and single hyphens"
            self.report("name", "name-form", message)
        return name

    def description(self) -> str:
        description = (self.text("description") or "").strip()
        if not description:
            self.report("description", "description-missing", "there is no description")
        elif len(description) > MAX_SPECIFIED_DESCRIPTION:
            self.report("description", "description-length", f"the description has {len(description):,} characters")
        return description

    def text(self, key: str) -> str | None:
        value = self.values.get(key)
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            self.report(key, "key-type", f"{key} is a list; its items were joined")
            return " ".join(str(item) for item in value)
        self.report(key, "key-type", f"{key} is not a string")
        return None

    def boolean(self, key: str, *, default: bool) -> bool:
        value = self.values.get(key)
        if value is None:
            return default
        word = value.strip().lower() if isinstance(value, str) else ""
        if word in _TRUE_WORDS or word in _FALSE_WORDS:
            return word in _TRUE_WORDS
        self.report(key, "key-type", f"{key} is neither true nor false")
        return default

    def described(self, key: str) -> Value:
        """Return the value of a top-level key, or else of the same key in `metadata`, as the specification has it."""
        at_top = self.values.get(key)
        return self.metadata.get(key) if at_top is None else at_top

    def described_text(self, key: str) -> str | None:
        value = self.described(key)
        return _one_line(value) or None if isinstance(value, str) else None

    def check_keys(self) -> None:
        for key in self.values:
            if key in SPECIFIED_KEYS:
                continue
            if key in EXTENSIONS:
                *others, last = EXTENSIONS[key]
                readers = f"{', '.join(others)} and {last}" if others else last
                self.report(key, "key-extension", f"{key!r} is not in the specification; read by {readers}")
            elif key in READ_IN_BOTH_PLACES:
                message = f"{key!r} is not a specified key; SkillHub reads it under metadata too"
                self.report(key, "key-unknown", message)
            elif (meant := meant_key(key)) is not None:
                self.report(key, "key-misspelt", f"{key!r} is not a known key; did you mean {meant!r}?")
            else:
                self.report(key, "key-unknown", f"{key!r} is not a specified key")

    def check_metadata(self) -> None:
        metadata = self.values.get("metadata")
        if metadata is not None and not isinstance(metadata, dict):
            self.report("metadata", "key-type", "metadata is not a mapping")
        nested = next((key for key, value in self.metadata.items() if not isinstance(value, str)), None)
        if nested is not None:
            self.report("metadata", "metadata-nested", f"metadata.{nested} is not a string")

    def skillhub_metadata(self) -> tuple[str | None, tuple[str, ...], bool]:
        """Return category, tags and alwaysApply from `skillhub.*`, the map `skillhub`, the top level or `metadata`."""
        nested = self.metadata.get("skillhub")
        inner: Mapping[str, Value] = nested if isinstance(nested, dict) else {}
        own = {key: self.metadata.get(f"skillhub.{key}", inner.get(key)) for key in ("category", "tags", "alwaysApply")}
        category = own["category"]
        if category is None:
            category = self.described_text("category")
        elif not isinstance(category, str):
            self.report("metadata", "key-type", "the category is not a string")
        label = _one_line(category).lower() if isinstance(category, str) else ""
        tags = _tags(self.described("tags") if own["tags"] is None else own["tags"])
        longest = max((label, *tags), key=len)
        if len(longest) > MAX_NAME:
            subject = "the category" if longest is label else "a tag"
            self.report("metadata", "metadata-length", f"{subject} has {len(longest):,} characters")
        always = own["alwaysApply"]
        return (
            label if 0 < len(label) <= MAX_NAME else None,
            tuple(tag for tag in tags if len(tag) <= MAX_NAME),
            isinstance(always, str) and always.strip().lower() in _TRUE_WORDS,
        )


def allowed_tools(value: Value) -> tuple[str, ...]:
    """Return `allowed-tools` as a tuple. A string is split at blanks and commas outside parentheses."""
    if isinstance(value, list):
        return tuple(text for item in value if isinstance(item, str) and (text := item.strip()))
    return tuple(_split_outside_parentheses(value.strip("[]"))) if isinstance(value, str) else ()


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


def _tags(value: Value) -> tuple[str, ...]:
    # A list that was repaired is text with its brackets.
    items = value.strip("[]").split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    tags = (_one_line(item).lower() for item in items if isinstance(item, str))
    return tuple(dict.fromkeys(tag for tag in tags if tag))


def _normalised_name(text: str) -> str:
    return text if is_specified_name(text) and text.isascii() else _one_line(unicodedata.normalize("NFKC", text))


def _one_line(text: str) -> str:
    if text.isalnum():
        return text
    return _BLANKS.sub(" ", _CONTROLS.sub(" ", text)).strip()


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
