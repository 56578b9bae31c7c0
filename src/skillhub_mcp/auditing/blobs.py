"""Encoded texts: long runs of base64, digits or character codes, and what they say once decoded. Pure; runs nothing."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass

_BASE64 = re.compile(r"(?<![A-Za-z0-9+/=_.-])[A-Za-z0-9+/]{32,8192}={0,2}(?![A-Za-z0-9+/])")
_HEX = re.compile(r"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{2}){24,4096}(?![0-9A-Fa-f])|(?:\\x[0-9A-Fa-f]{2}){12,2048}")
_CODES = re.compile(r"(?<![\d.,])(?:[0-9]{2,3}, ?){11,2048}[0-9]{2,3}(?![\d.])")
# Faster than trying the others at every character of a text that has none.
_LETTERS = re.compile(r"[A-Za-z0-9+/]+")
_SHORTEST_BASE64 = 32
_FEWEST_COMMAS = 11
_OCTAL = re.compile(r"(?:\\[01]?[0-7]{2}){8,2048}")
# Beyond so many runs of a kind, the rest is not decoded; `audit` says so.
MOST = 200
_READABLE = 0.92
LONG = 600


@dataclass(frozen=True, slots=True)
class Blob:
    """An encoded run: where it starts, how many characters it has, and its text, empty if it is not readable text."""

    position: int
    length: int
    text: str


def blobs(text: str) -> Iterator[Blob]:
    """Yield the first encoded runs of a text, decoded where they are text."""
    has_run = max(map(len, _LETTERS.findall(text)), default=0) >= _SHORTEST_BASE64
    escapes = "\\" in text
    for number, run in enumerate(_BASE64.finditer(text) if has_run else ()):
        if number == MOST + 1:
            break
        if run[0].isalpha() and (run[0].islower() or run[0].isupper()):
            continue  # a long word or identifier
        yield Blob(run.start(), len(run[0]), _readable(_base64(run[0])))
    for pattern, decode, possible in (
        (_HEX, _hex, has_run or escapes),
        (_CODES, _codes, text.count(",") >= _FEWEST_COMMAS),
        (_OCTAL, _octal, escapes),
    ):
        if not possible:
            continue
        for number, run in enumerate(pattern.finditer(text)):
            if number == MOST + 1:
                break
            said = _readable(decode(run[0]))
            # Numbers are common: those that say nothing are no encoded text.
            if said or pattern is _HEX:
                yield Blob(run.start(), len(run[0]), said)


def _base64(run: str) -> bytes:
    plain = run.rstrip("=")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4))
    except (binascii.Error, ValueError):
        return b""


def _hex(run: str) -> bytes:
    try:
        return bytes.fromhex(run.replace("\\x", ""))
    except ValueError:
        return b""


def _codes(run: str) -> bytes:
    try:
        return bytes(int(code) for code in run.split(","))
    except ValueError:
        return b""


def _octal(run: str) -> bytes:
    return bytes(int(code, 8) for code in run.split("\\")[1:])


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
