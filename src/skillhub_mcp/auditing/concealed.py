"""Text that a reader does not see or cannot read: comments, invisible elements, and encoded runs, decoded. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

# Words after which hidden text addresses an agent, or acts. `audit` adds what the other rules find in it.
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
MOST_HIDDEN = 500


@dataclass(frozen=True, slots=True)
class HiddenText:
    """A text that rendering hides, and where in the whole text it starts."""

    text: str
    position: int


def hidden_texts(text: str) -> Iterator[HiddenText]:
    """Yield the comments and invisible elements of a Markdown text, each up to 4,000 characters."""
    at = text.find("<!--")
    while at >= 0:
        end = text.find("-->", at + 4)
        end = len(text) if end < 0 else end
        yield HiddenText(text[at + 4 : min(end, at + _LONGEST)], at)
        at = text.find("<!--", end)
    if "]:" in text:
        yield from (HiddenText(one[0], one.start()) for one in _REFERENCE.finditer(text))
    if "<" in text:
        for opened in _STYLE.finditer(text):
            end = text.find(f"</{opened[1]}", opened.end(), opened.end() + _LONGEST)
            if end > 0:
                yield HiddenText(text[opened.end() : end], opened.start())


def addresses_an_agent(prose: str) -> bool:
    """Whether a folded text speaks to an agent, rather than to a reader or an author."""
    return _ADDRESSES.search(prose) is not None


_BASE64 = re.compile(r"(?<![A-Za-z0-9+/=_.-])[A-Za-z0-9+/]{32,8192}={0,2}(?![A-Za-z0-9+/])")
_HEX = re.compile(r"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{2}){24,4096}(?![0-9A-Fa-f])|(?:\\x[0-9A-Fa-f]{2}){12,2048}")
_CODES = re.compile(r"(?<![\d.,])(?:[0-9]{2,3}, ?){11,2048}[0-9]{2,3}(?![\d.])")
# Faster than trying the others at every character of a text that has none.
_LETTERS = re.compile(r"[A-Za-z0-9+/]+")
_SHORTEST_BASE64 = 32
_FEWEST_COMMAS = 11
_OCTAL = re.compile(r"(?:\\[01]?[0-7]{2}){8,2048}")
# Beyond so many runs of a kind, the rest is not decoded; `audit` says so.
MOST_BLOBS = 200
_READABLE = 0.92
LONG_BLOB = 600


@dataclass(frozen=True, slots=True)
class Blob:
    """An encoded run: its start, its number of characters, and its text, empty if it is not readable."""

    position: int
    length: int
    text: str


def blobs(text: str) -> Iterator[Blob]:
    """Yield the first encoded runs of a text, decoded where they are text."""
    has_run = max(map(len, _LETTERS.findall(text)), default=0) >= _SHORTEST_BASE64
    escapes = "\\" in text
    for run in islice(_BASE64.finditer(text) if has_run else (), MOST_BLOBS + 1):
        if run[0].isalpha() and (run[0].islower() or run[0].isupper()):
            continue  # a long word or identifier
        yield Blob(run.start(), len(run[0]), _decoded(_base64, run[0]))
    for pattern, decode, is_possible in (
        (_HEX, lambda run: bytes.fromhex(run.replace("\\x", "")), has_run or escapes),
        (_CODES, lambda run: bytes(map(int, run.split(","))), text.count(",") >= _FEWEST_COMMAS),
        (_OCTAL, lambda run: bytes(int(code, 8) for code in run.split("\\")[1:]), escapes),
    ):
        for run in islice(pattern.finditer(text) if is_possible else (), MOST_BLOBS + 1):
            said = _decoded(decode, run[0])
            # Numbers are common: those that do not decode are not reported.
            if said or pattern is _HEX:
                yield Blob(run.start(), len(run[0]), said)


def _decoded(decode: Callable[[str], bytes], run: str) -> str:
    try:
        return _readable(decode(run))
    except (binascii.Error, ValueError):
        return ""


def _base64(run: str) -> bytes:
    plain = run.rstrip("=")
    return base64.b64decode(plain + "=" * (-len(plain) % 4))


def _readable(content: bytes) -> str:
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
