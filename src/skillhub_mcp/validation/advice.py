"""Advice: checks beyond the specification, which prefer a missed problem to a false alarm.

A path is a reference if a Markdown link names it, if it is in a directory of the skill, or if prose names a file in
`references/` or `scripts/`, unless the words before it make it an example or something to be created.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from posixpath import basename, normpath, splitext
from urllib.parse import unquote

from skillhub_mcp.disclosure.catalogue import estimate_tokens
from skillhub_mcp.skills.model import SKILL_FILE, is_skill_file
from skillhub_mcp.skills.rules import Diagnostic, violation

MAX_BODY_LINES = 500
MAX_BODY_TOKENS = 5_000

_FENCES = (re.compile(r"```+"), re.compile(r"~~~+"))
# Stops at "]", so that the search takes linear time.
_LINK = re.compile(r"\]\(\s*<?([^\])<>\s]+)>?(?:\s+[\"'(][^\])]*)?\)")
_REST_OF_A_PATH = re.compile(r"(?:[\w.-]+/)*[\w.-]*\w\.[A-Za-z0-9]{1,8}(?![\w/*{<-])")
_WITHIN_A_PATH = re.compile(r"[\w./\\:@$~{<*-]")
_OF_THE_SPECIFICATION = frozenset({"references", "scripts"})
_LINE_END = re.compile("\n")
_WORD = re.compile(r"[\w-]+")
_MOST_CHARACTERS = 4_000_000
# Words before a path that make it an example or the user's.
_SUPPOSED = re.compile(
    r"\b(?:e\.g|examples?|for instance|such as|like|would|could|creat\w*|generat\w*|your|user'?s?|projects?|repo\w*)\b",
    re.IGNORECASE,
)
_SUPPOSING_CHARACTERS = 200
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#|/|~|\\|\$")
_PLACEHOLDER = re.compile(r"[<>{}*\[\]|$]|\.\.\.|…|\bXX+\b|\bYYYY\b", re.IGNORECASE)
_TO_WRITE = re.compile(r"^[ \t]*(?:(?:[-*]|\d+\.)[ \t]*)?(\[TODO: )", re.MULTILINE)
# Words that say when, in several languages.
_WHEN = re.compile(
    r"\b(?:when|whenever|while|if|use (?:this|it|to|in|on)|used (?:to|when)|useful when|for|"
    r"trigger\w*|invoke\w*|asks?|needs?|wants?|before|after|during|on (?:any|every|each)|must|always|"
    r"wenn|sobald|falls|für|verwende\w*|nutze\w*|bei|"
    r"cuando|si|para|usar?|quand|lorsque|si|pour|utilis\w+|quando|se|per|usare|"
    r"когда|если|для|при|использ\w+)\b"
    r"|時|とき|場合|際|たい|使用|利用|必要|用于|用於|当|當|时|使用|需要|适用|때|경우|위해|사용|เมื่อ|ใช้|khi",
    re.IGNORECASE,
)
# Files that need no reference.
_CONVENTIONAL = re.compile(
    r"(?i)(^|/)(licen[cs]e|notice|readme|changelog|contributing|authors|security|copying|version|skill|agents|claude)"
    r"(\.[\w.]+)?$|(^|/)(__init__\.py|package(-lock)?\.json|requirements[\w-]*\.txt|pyproject\.toml|uv\.lock|"
    r"tsconfig\.json|makefile|dockerfile|conftest\.py|test_[\w-]+\.py|[\w-]+\.test\.\w+|openai\.yaml)$|(^|/)(tests?|evals?)/"
)


@dataclass(frozen=True, slots=True)
class Reference:
    """A path that a text references, relative to the skill's directory, and its position."""

    path: str
    position: int


def advice_on(
    description: str, line: int | None, body: str, first_line: int, texts: Mapping[str, str | None]
) -> Iterator[Diagnostic]:
    """Yield all advice on a skill; `texts` are its files by relative path, with the start of each text file."""
    yield from body_advice(body, first_line)
    yield from template_advice(body, first_line)
    yield from description_advice(description, line)
    yield from reference_advice(body, first_line, texts.keys())
    others = {path for path in texts if not is_skill_file(path)}
    readable = {path: text for path, text in texts.items() if text is not None}
    yield from unreferenced_advice(others, {**readable, SKILL_FILE: body})


def body_advice(body: str, first_line: int) -> Iterator[Diagnostic]:
    """Report a body that is too long; `first_line` is its first line in SKILL.md."""
    lines = body.count("\n") + (not body.endswith("\n") and bool(body))
    if lines > MAX_BODY_LINES:
        yield violation("body-lines", f"the body has {lines:,} lines", line=first_line)
    tokens = estimate_tokens(body)
    if tokens > MAX_BODY_TOKENS:
        yield violation("body-tokens", f"the body is about {tokens:,} tokens", line=first_line)


def template_advice(body: str, first_line: int) -> Iterator[Diagnostic]:
    """Report the first line that a template left to be written, outside code blocks."""
    blocks = _fenced(body)
    for found in _TO_WRITE.finditer(body):
        if not _is_in(blocks, found.start(1)):
            line = first_line + body.count("\n", 0, found.start(1))
            yield violation("template-left", "the text of a template is still there", line=line)
            return


def description_advice(description: str, line: int | None) -> Iterator[Diagnostic]:
    """Report a description that does not say when to use the skill."""
    if description and not _WHEN.search(description):
        yield violation("description-when", "the description does not say when to use the skill", line=line)


def reference_advice(body: str, first_line: int, files: Collection[str]) -> Iterator[Diagnostic]:
    """Report missing files that the body references, each once. `files` are the skill's files, by relative path."""
    directories = _directories(files)
    line_ends = [found.start() for found in _LINE_END.finditer(body)]
    for reference in references(body, directories):
        if reference.path in files or reference.path in directories or f"{reference.path}.md" in files:
            continue
        line = first_line + bisect_left(line_ends, reference.position)
        yield violation("reference-missing", f"{reference.path!r} is not in the skill", line=line)


def unreferenced_advice(files: Collection[str], texts: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Report files that no text of the skill mentions; `texts` are its text files, by relative path."""
    everything = "\n".join(texts.values())
    if len(everything) > _MOST_CHARACTERS:
        return
    words = frozenset(_WORD.findall(everything))
    named_directories = {directory for directory in _directories(files) if f"{directory}/" in everything}
    for path in sorted(files):
        if _CONVENTIONAL.search(path) or path.startswith(".") or "/." in path:
            continue
        name = basename(path)
        if not named_directories.isdisjoint(map(str, PurePosixPath(path).parents)):
            continue
        # Code is imported, and documents are linked, without the file extension.
        stem = splitext(name)[0]
        if name in everything or stem in words or (not _WORD.fullmatch(stem) and stem in everything):
            continue
        yield violation("file-unreferenced", f"nothing in the skill mentions {path!r}")


def references(text: str, directories: Collection[str]) -> Iterator[Reference]:
    """Yield the files of the skill that a Markdown text references, each once, links before mentions."""
    blocks = _fenced(text)
    seen: set[str] = set()
    if "](" in text:
        for link in _LINK.finditer(text):
            path = _relative(unquote(link[1].partition("#")[0].partition("?")[0]))
            if path is None or path in seen or ("/" not in path and "." not in path) or _is_in(blocks, link.start()):
                continue
            seen.add(path)
            yield Reference(path, link.start())
    own = {directory for directory in directories if "/" not in directory}
    for directory in sorted(own | _OF_THE_SPECIFICATION):
        for mention in _mentions(text, directory):
            at = mention.position
            if mention.path in seen or (directory not in own and (_is_in(blocks, at) or _is_supposed(text, at))):
                continue
            seen.add(mention.path)
            yield mention


def _mentions(text: str, directory: str) -> Iterator[Reference]:
    """Yield the paths below a directory that a text names."""
    start = text.find(f"{directory}/")
    while start >= 0:
        after = start + len(directory) + 1
        begin = start - len("./") if text.endswith("./", 0, start) else start
        rest = None if begin and _WITHIN_A_PATH.match(text, begin - 1) else _REST_OF_A_PATH.match(text, after)
        path = _relative(text[start : rest.end()]) if rest else None
        if path is not None:
            yield Reference(path, start)
        start = text.find(f"{directory}/", after)


def _is_supposed(text: str, position: int) -> bool:
    earliest = max(0, position - _SUPPOSING_CHARACTERS)
    begin = text.rfind("\n", earliest, position) + 1
    return _SUPPOSED.search(text, begin or earliest, position) is not None


def _is_in(blocks: Sequence[tuple[int, int]], position: int) -> bool:
    """Whether a position of the text is in one of the code blocks."""
    before = bisect_right(blocks, position, key=lambda block: block[0]) - 1
    return before >= 0 and position < blocks[before][1]


def _fenced(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each fenced code block."""
    spans: list[tuple[int, int]] = []
    opened: tuple[str, int] | None = None
    fences = (fence for pattern in _FENCES for fence in pattern.finditer(text) if _begins_line(text, fence.start()))
    for fence in sorted(fences, key=lambda fence: fence.start()):
        if opened is None:
            opened = (fence[0], fence.start())
        elif fence[0].startswith(opened[0]):
            spans.append((opened[1], fence.end()))
            opened = None
    return spans if opened is None else [*spans, (opened[1], len(text))]


def _begins_line(text: str, position: int) -> bool:
    return not text[text.rfind("\n", 0, position) + 1 : position].strip(" \t")


def _relative(written: str) -> str | None:
    """Return a path within the skill; None for a URL, an outside path or a placeholder."""
    if not written or _SCHEME.match(written) or _PLACEHOLDER.search(written):
        return None
    path = normpath(written)
    return None if path in (".", "..") or path.startswith("../") else path


def _directories(files: Iterable[str]) -> set[str]:
    return {str(parent) for path in files for parent in PurePosixPath(path).parents} - {"."}
