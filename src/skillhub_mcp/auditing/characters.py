"""Characters that are not seen, that change the order of others, or that look like others. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from skillhub_mcp._util.wording import plural
from skillhub_mcp.auditing.rules import AuditFinding, Risk, found

# Characters that take no room: zero-width, joiners, fillers, the soft hyphen, invisible operators.
_ZERO_WIDTH = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0"
)
_BIDI = "\u202a-\u202e\u2066-\u2069"
_TAGS = "\U000e0000-\U000e007f"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"

_INVISIBLE = re.compile(f"[{_ZERO_WIDTH}{_BIDI}{_TAGS}{_SELECTORS}]")
_SUSPECT = re.compile(f"[{_ZERO_WIDTH}{_BIDI}{_TAGS}\U000e0100-\U000e01ef]|[\ufe00-\ufe0e]{{3}}")
# A flag of a region, such as Scotland's, is a black flag followed by tags: no text of its own.
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{2,6}\U000e007f")
_TAG_RUN = re.compile(f"[{_TAGS}]{{1,400}}")
_SELECTOR_RUN = re.compile("[\ufe00-\ufe0e\U000e0100-\U000e01ef]{4}")
_ZERO_WIDTH_RUN = re.compile(f"[{_ZERO_WIDTH}]{{6}}")
_SPLIT_WORD = re.compile(f"(?<=[A-Za-z])[{_ZERO_WIDTH}]{{1,3}}(?=[A-Za-z])")
_BIDI_ONE = re.compile(f"[{_BIDI}]")
_OVERRIDE = re.compile("[\u202d\u202e]")

# A few split words are a writer's habit; so many are a message.
_SPLIT_WORDS = 3
_SHOWN = 60
_FIRST_TAG = 0xE0000

# What looks like a Latin letter or digit, after NFKC and in small letters: the part of UTS #39's table that fits names.
LOOK_ALIKES = str.maketrans(
    {
        "а": "a", "ɑ": "a", "α": "a", "ӓ": "a", "в": "b", "ƅ": "b", "ь": "b", "с": "c", "ϲ": "c", "ԁ": "d", "ɗ": "d",
        "е": "e", "ё": "e", "ε": "e", "ҽ": "e", "ғ": "f", "ƒ": "f", "ɡ": "g", "ց": "g", "һ": "h", "н": "h", "і": "i",
        "ι": "i", "ı": "i", "ӏ": "l", "ј": "j", "ϳ": "j", "к": "k", "κ": "k", "ⅼ": "l", "м": "m", "ո": "n", "η": "n",
        "п": "n", "о": "o", "ο": "o", "օ": "o", "σ": "o", "р": "p", "ρ": "p", "ԛ": "q", "զ": "q", "г": "r", "ꮁ": "r",
        "ѕ": "s", "ꜱ": "s", "т": "t", "τ": "t", "υ": "u", "ս": "u", "ц": "u", "ν": "v", "ѵ": "v", "ԝ": "w", "ω": "w",
        "ш": "w", "х": "x", "χ": "x", "у": "y", "γ": "y", "ү": "y", "ᴢ": "z", "ʐ": "z", "‐": "-", "‑": "-", "–": "-",
        "−": "-",
    }
)  # fmt: skip
_ALIKE_PARTS = (("rn", "m"), ("vv", "w"), ("cl", "d"))
_ALIKE_DIGITS = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "5": "s", "_": "-", ".": "-"})


def without_invisible(text: str) -> str:
    """Return the text without the characters that are not seen."""
    return _INVISIBLE.sub("", text)


def skeleton(name: str) -> str:
    """Return a text that two names share exactly if they look alike. Case, width and accents do not count."""
    if name.isascii():
        alike = name.lower()
    else:
        plain = unicodedata.normalize("NFKD", without_invisible(name)).lower()
        plain = "".join(character for character in plain if not unicodedata.combining(character))
        alike = plain.translate(LOOK_ALIKES)
    for part, one in _ALIKE_PARTS:
        alike = alike.replace(part, one)
    return alike.translate(_ALIKE_DIGITS)


def hidden_characters(path: str, text: str) -> Iterator[AuditFinding]:
    """Report invisible and reordering characters, each kind once, where it first is."""
    if text.isascii() or not _SUSPECT.search(text):
        return

    def report(rule: str, at: re.Match[str], message: str, severity: Risk | None = None) -> AuditFinding:
        return found(rule, message, path=path, line=1 + text.count("\n", 0, at.start()), severity=severity)

    flagless = _FLAG.sub(lambda flag: " " * len(flag[0]), text)
    if tags := _TAG_RUN.search(flagless):
        said = "".join(filter(str.isprintable, (chr(ord(tag) - _FIRST_TAG) for tag in tags[0])))[:_SHOWN]
        yield report("hidden-tags", tags, f"tag characters that say {said!r}")
    if run := _SELECTOR_RUN.search(flagless):
        yield report("hidden-selectors", run, "a run of variation selectors")
    if run := _ZERO_WIDTH_RUN.search(flagless):
        yield report("hidden-zero-width", run, "a run of zero-width characters")
    elif split := list(_SPLIT_WORD.finditer(flagless)):
        severity = None if len(split) >= _SPLIT_WORDS else Risk.MEDIUM
        yield report("hidden-zero-width", split[0], f"zero-width characters in {plural(len(split), 'word')}", severity)
    if override := _OVERRIDE.search(flagless):
        yield report("hidden-bidi", override, "bidirectional overrides")
    elif mark := _BIDI_ONE.search(flagless):
        yield report("hidden-bidi", mark, "bidirectional embeddings or isolates", Risk.MEDIUM)
