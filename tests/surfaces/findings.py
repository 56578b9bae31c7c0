"""What must not be in what is shown, looked for without the program's own functions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from tests.surfaces.library import FORGED, PAYLOADS

_TAG = re.compile(r"<(?=[A-Za-z!?|]|\s*/)")
_FORGED_LINE = re.compile(rf"^[\s\-#|*>`]*(?:{FORGED}|Human:|Assistant:|INFO skillhub_mcp\.audit: load skill={FORGED})")
# What the payloads that are kept are made of: joiners and a selector, each where it belongs.
_KEPT = [payload.text for payload in PAYLOADS if payload.kept]
_SHOWS_NOTHING = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_BOUNDS = ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0000, 0xE01EF))


def hidden(text: str, *, lines: bool = False) -> list[str]:
    """The characters of `text` that cannot be seen or that move or reorder; line feeds and tabs with `lines`."""
    for kept in (*_KEPT, "\U0001f600\ufe0f", "\u2764\ufe0f"):
        text = text.replace(kept, "")
    return sorted(ascii(char) for char in set(text) if _is_hidden(char) and not (lines and char in "\n\t"))


def _is_hidden(char: str) -> bool:
    if char.isascii():
        return not char.isprintable()
    number = ord(char)
    return (
        unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
        or char in _SHOWS_NOTHING
        or any(low <= number <= high for low, high in _BOUNDS)
    )


def forged_lines(text: str) -> list[str]:
    """The lines of `text` that only a payload says."""
    return [line for line in text.splitlines() if _FORGED_LINE.match(line)]


def wrong_in_a_value(text: str) -> list[str]:
    """What is wrong with a value that a model is shown: it is one line, in which nothing hides and no tag begins."""
    found = hidden(text)
    found += ["a tag"] if _TAG.search(text) else []
    return found + (["a second line"] if len(text.splitlines()) > 1 else [])


def values(value: object, *, but: frozenset[str] = frozenset()) -> Iterator[str]:
    """Every text in a JSON value, keys included, but for what stands under the keys `but`."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            if key not in but:
                yield from values(item, but=but)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from values(item, but=but)


def tags_named(text: str, name: str) -> int:
    """How many tags of that name a reader sees in `text`, in whatever letters and with whatever in between."""
    normal = unicodedata.normalize("NFKC", text)
    seen = normal.translate({ord(char): None for char in set(normal) if _is_hidden(char) or char.isspace()})
    return len(re.findall(rf"</?{re.sub('[-_]', '[-_]', name)}", seen, re.IGNORECASE))
