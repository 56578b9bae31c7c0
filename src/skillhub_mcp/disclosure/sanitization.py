"""Sanitization of untrusted text from skills: visible characters only, on one line, without markup. Pure."""

from __future__ import annotations

import re

from skillhub_mcp.skills.names import safe_alias

# `str.isprintable` is False for most invisible characters: controls, bidirectional marks, joiners, tags. These count as
# letters, symbols or accents, but show nothing, or can hide bytes behind a visible character.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_ATTRIBUTE = str.maketrans({'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def visible(text: str) -> str:
    """Return `text` on one line, without invisible characters."""
    if not text.isprintable() or _INVISIBLE.search(text):
        text = "".join(c if c.isprintable() else " " if c.isspace() else "" for c in _INVISIBLE.sub("", text))
    return " ".join(text.split())


def shown_name(name: str) -> str:
    """Return the name that a skill is shown and loaded by: its own, or its alias if that is not all visible."""
    seen = visible(name)
    return name if seen == name else safe_alias(name) or seen


def escaped(text: str) -> str:
    """Return `text` with `&`, `<` and `>` escaped, so that it cannot open or close a tag."""
    return text.translate(_MARKUP)


def quoted(text: str) -> str:
    """Return `text` as an attribute value in double quotes."""
    # `xml.sax.saxutils.quoteattr` does the same, but its import loads urllib: 20 ms of the startup time.
    return f'"{escaped(text).translate(_ATTRIBUTE)}"'


def shortened(text: str, length: int) -> str:
    """Return `text` in at most `length` characters, with an ellipsis where it was cut and there is room for one."""
    if len(text) <= length:
        return text
    # An ellipsis needs room for itself and for a character before it.
    return text[: length - 1].rstrip() + "…" if length > 1 else ""
