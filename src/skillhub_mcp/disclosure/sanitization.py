"""What of a skill's own words may stand among ours? What can be seen, on one line, and no markup. Pure."""

from __future__ import annotations

import re

from skillhub_mcp.skills.names import safe_alias

# `isprintable` knows most of what cannot be seen: controls, the marks that turn writing round, joiners, tags. These
# pass for letters, signs or accents, and show nothing, or hide bytes behind one that does.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_IN_QUOTES = str.maketrans({'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def visible(text: str) -> str:
    """Return `text` on one line, without characters that a reader cannot see."""
    if not text.isprintable() or _UNSEEN.search(text):
        text = "".join(c if c.isprintable() else " " if c.isspace() else "" for c in _UNSEEN.sub("", text))
    return " ".join(text.split())


def shown_name(name: str) -> str:
    """Return what a skill is shown and loaded by: its name, or its safe alias where not all of the name can be seen."""
    seen = visible(name)
    return name if seen == name else safe_alias(name) or seen


def escaped(text: str) -> str:
    """Return `text` with nothing in it that could open or close a tag."""
    return text.translate(_ESCAPED)


def quoted(text: str) -> str:
    """Return `text` as the value of an attribute, in quotes."""
    # The standard library's does the same, and loads the web client of which it is a part: 20 ms of a start.
    return f'"{escaped(text).translate(_IN_QUOTES)}"'


def shortened(text: str, length: int) -> str:
    """Return `text` in at most `length` characters, with a mark of what is missing where there is room for one."""
    if len(text) <= length:
        return text
    # A mark needs room for itself and for something before it.
    return text[: length - 1].rstrip() + "…" if length > 1 else ""
