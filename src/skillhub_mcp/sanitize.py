"""Sanitize text from skills: one function for each kind of output. Pure.

| output | function | what cannot be seen |
|---|---|---|
| a value in JSON, or a line of text, for a model | `for_model`, `all_for_model` | is left out |
| a path for a model | `path_for_model` | is shown as an escape: such a path opens nothing, and its skill has a name |
| frontmatter for a host | `in_frontmatter` | is left out, and lines stay |
| words, for the index | `without_hidden` | is left out |
| JSON, when it is written | `in_json` | is written as JSON's escape: the value is the same |
| XML | `in_element`, `in_attribute` | is written as a character reference: the value is the same |
| a text that stands whole inside a wrapper | `contained` | stays: the text is the file's |
| a terminal | `on_terminal`, `in_line` | is shown as an escape, so that a reviewer sees it |

A joiner is kept where a script or an emoji needs it (RFC 5892 appendix A, UTS #51): there it shapes what stands beside
it. Everywhere else it is unseen.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

from skillhub_mcp.errors import InvalidArgument

# These count as letters, symbols or accents, but show nothing, or can hide bytes behind a visible character.
_BLANK_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
# Zero-width characters, marks of direction, line and paragraph separators, tags.
_FORMATS = (
    "\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff"
)
_SURROGATES = "\ud800-\udfff"
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_LINE = "\t\n"
_LINE_ENDS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_UNSEEN = f"{_CONTROLS}{_BLANK_LETTERS}{_FORMATS}{_SURROGATES}"

# Where a joiner or a variation selector is part of what is written: in an emoji, after a virama, in Arabic scripts.
_EMOJI = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2934\u2935\u2b00-\u2bff\u3030"
    "\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_PICTURE = f"{_EMOJI}\ufe0f?[\U0001f3fb-\U0001f3ff]?"
_VIRAMA = (
    "[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0e3a\u0eba\u0f84\u1039\u103a\u1714\u1734"
    "\u17d2\u1a60\u1b44\u1baa\u1bab\u1bf2\u1bf3\u2d7f\ua806\ua82c\ua8c4\ua953\ua9c0\uaaf6\uabed]"
)
_ARABIC = "[\u0620-\u06dc\u06de-\u06ff\u0750-\u077f\u08a0-\u08e1\ufb50-\ufdff\ufe70-\ufefc]"
_WRITTEN = (
    f"{_PICTURE}(?:\u200d{_PICTURE})*|[0-9#*]\ufe0f(?=\u20e3)"
    f"|(?<={_VIRAMA})[\u200c\u200d]|(?<={_ARABIC})\u200c(?={_ARABIC})"
)
_KEPT = "\u200c\u200d"

# Where a tag begins, or a comment, a declaration, an instruction, or a marker such as `<|im_start|>`.
_TAG = re.compile(r"<(?=[A-Za-z!?|]|\s*/)")

# What the hub writes around a text, and what the hub and hosts say things to a model in. Letters of another case, and
# characters that show nothing, make no other tag for a reader.
_WRAPPERS = (
    "skill-loaded",
    "skill-context",
    "skill-files",
    "skills-context",
    "skills-catalog",
    "available-skills",
    "agents-context",
    "system-reminder",
)
_FIRST_LETTERS = "".join(sorted({letter for name in _WRAPPERS for letter in (name[0], name[0].upper())}))
# How much of a tag is looked at: its name, and what may be hidden in that.
_TAG_LENGTH, _NAME_LENGTH = 1_024, 32
_DASHES = re.compile("[-_\u2010-\u2015\u2212]")

_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_QUOTES = str.maketrans({'"': "&quot;", "'": "&#x27;"})


_BLANK = f"[{_BLANK_LETTERS}]"
_HIDDEN = f"({_WRITTEN})|[{_BLANK_LETTERS}{_KEPT}]"
_MAY_HIDE = f"[{_BLANK_LETTERS}{_FORMATS}]"
_HIDDEN_OR_BREAK = f"({_WRITTEN})|{_MAY_HIDE}"
_UNPRINTABLE = f"({_WRITTEN})|[{_UNSEEN}]"
_UNPRINTABLE_OR_BREAK = f"({_WRITTEN})|[{_LINE}{_UNSEEN}]"
# Up to the next bracket, so that no character is looked at for two tags.
_MAYBE_WRAPPER = (
    f"[<\uff1c\ufe64](?=[\\s/\uff0f{_UNSEEN}]*([{_FIRST_LETTERS}\uff21-\uff5a][^<\uff1c\ufe64]{{0,{_TAG_LENGTH}}}))"
)
_NOT_IN_XML = f"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff{_SURROGATES}]"


def visible(text: str) -> str:
    """Return `text` on one line, without characters that cannot be seen."""
    printable = text.isprintable()
    if not text.isascii() and (not printable or re.search(_BLANK, text)):
        text = re.sub(_HIDDEN, lambda found: found[1] or "", text)
    if not printable:
        text = "".join(c if c.isprintable() or c in _KEPT else " " if c.isspace() else "" for c in text)
    return " ".join(text.split())


def without_hidden(text: str) -> str:
    """Return `text` without what cannot be seen in its words, which are then those that a reader sees."""
    if text.isascii() or not re.search(_MAY_HIDE, text):
        return text
    return re.sub(_HIDDEN_OR_BREAK, lambda found: found[1] or (" " if found[0] in _LINE_ENDS else ""), text)


def for_model(text: str) -> str:
    """Return `text` as one line in which nothing is hidden and no tag begins: `<` is `&lt;` where one would."""
    return _without_tags(visible(text))


def path_for_model(path: str) -> str:
    """Return `path` as one line in which no tag begins; what is in no usual path is an escape."""
    return _without_tags(in_line(path))


def all_for_model(value: object) -> object:
    """Return a JSON value with all of its texts, keys included, as `for_model` returns them."""
    if isinstance(value, str):
        shown = for_model(value)
        # A path with two blanks is another with one.
        return value if shown.replace(" ", "") == value.replace(" ", "") else shown
    if isinstance(value, Mapping):
        return {for_model(str(key)): all_for_model(item) for key, item in value.items()}
    return [all_for_model(item) for item in value] if isinstance(value, list | tuple) else value


def in_frontmatter(text: str) -> str:
    """Return `text` with its lines and without what cannot be seen, and so that it closes no wrapper."""
    if text.isascii() and text.isprintable():
        return contained(text)
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return contained(re.sub(_UNPRINTABLE, lambda found: found[1] or ("\n" if found[0] in _LINE_ENDS else ""), lines))


def in_json(written: str) -> str:
    """Return `written`, which is JSON, with what cannot be seen as JSON's escapes: it means the same."""
    # Looking for it is much faster than telling what of it is part of what is written.
    if (written.isascii() and written.isprintable()) or not re.search(f"[{_UNSEEN}]", written):
        return written
    return re.sub(_UNPRINTABLE, lambda found: found[1] or _json_escape(found[0]), written)


def in_element(text: str, *, quotes: bool = False) -> str:
    """Return `text` for an XML element. What cannot be seen is a reference; what XML cannot have is U+FFFD."""
    marked = _without_wide_tags(text.translate(_MARKUP))
    if quotes:
        marked = marked.translate(_QUOTES)
    if marked.isascii() and marked.isprintable():
        return marked
    marked = re.sub(_NOT_IN_XML, "\ufffd", marked)
    return re.sub(_UNPRINTABLE_OR_BREAK, lambda found: found[1] or f"&#{ord(found[0])};", marked)


def in_attribute(text: str) -> str:
    """Return `text` as an XML attribute's value, in double quotes."""
    # `xml.sax.saxutils.quoteattr` does the same, but its import loads urllib: 20 ms of the startup time.
    return f'"{in_element(text).replace(chr(34), "&quot;")}"'


def contained(text: str) -> str:
    """Return `text` with `&lt;` for each `<` that would close or open one of the hub's wrappers."""

    def sanitized(found: re.Match[str]) -> str:
        tag = found[1]
        if not (tag.isascii() and tag.isprintable()):
            tag = unicodedata.normalize("NFKC", re.sub(_UNPRINTABLE, "", tag))
        return "&lt;" if _DASHES.sub("-", tag[:_NAME_LENGTH].casefold()).startswith(_WRAPPERS) else found[0]

    return re.sub(_MAYBE_WRAPPER, sanitized, text)


def on_terminal(text: str) -> str:
    """Return `text` for a terminal: what controls it, reorders or hides is shown as an escape. Lines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return _shown(_UNPRINTABLE, text.replace("\r\n", "\n"))


def in_line(text: str) -> str:
    """Return `text` for one line on a terminal, such as a name or a path: line breaks and tabs are escapes too."""
    return text if text.isascii() and text.isprintable() else _shown(_UNPRINTABLE_OR_BREAK, text)


def shortened(text: str, length: int) -> str:
    """Return `text` in at most `length` characters, with an ellipsis where it was cut and there is room for one."""
    if len(text) <= length:
        return text
    # An ellipsis needs room for itself and for a character before it.
    return text[: length - 1].rstrip() + "…" if length > 1 else ""


def _without_tags(line: str) -> str:
    return _without_wide_tags(_TAG.sub("&lt;", line) if "<" in line else line)


def _without_wide_tags(text: str) -> str:
    # Full-width brackets are ordinary in Japanese, so only those of tags that mean something are changed.
    return contained(text) if "\uff1c" in text or "\ufe64" in text else text


def _shown(unprintable: str, text: str) -> str:
    return re.sub(unprintable, lambda found: found[1] or found[0].encode("unicode_escape").decode(), text)


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


_SHOWN_NAME = 64


def refuse_nul(**arguments: object) -> None:
    """Raise InvalidArgument for the first argument with a NUL character in any of its texts, however deep."""
    for name, value in arguments.items():
        if _has_nul(value):
            raise InvalidArgument(name[:_SHOWN_NAME], "contains a NUL character", hint="remove it and call again")


def _has_nul(value: object) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, Mapping):
        return any(_has_nul(key) or _has_nul(item) for key, item in value.items())
    return isinstance(value, Iterable) and not isinstance(value, bytes) and any(map(_has_nul, value))
