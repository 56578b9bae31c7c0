"""Names of skills: comparison, the specification's form, safe aliases, and names close to an unknown one. Pure."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterable

from skillhub_mcp.errors import SkillNotFound
from skillhub_mcp.sanitize import for_model

# The last four count as letters and show nothing.
_NOT_IN_AN_ALIAS = re.compile("[\\W_\u115f\u1160\u3164\uffa0]+")
_IS_AN_ALIAS = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(?:-[a-z0-9]+)*")
_CUTOFF = 60
_LISTED_NAMES = 20


def fold_name(name: str) -> str:
    """Return the form in which names, categories and tags are compared: NFKC, case-folded, blanks collapsed."""
    text = name if name.isascii() else unicodedata.normalize("NFKC", name)
    return " ".join(text.split()).casefold()


def safe_alias(name: str) -> str:
    """Return `name` as lowercase letters and digits of any script, joined by single hyphens, at most 64 characters."""
    if _IS_AN_ALIAS.fullmatch(name):
        return name
    folded = unicodedata.normalize("NFKC", name).lower()
    return _NOT_IN_AN_ALIAS.sub("-", folded).strip("-")[:64].rstrip("-")


def is_plain_name(name: str) -> bool:
    """Whether `name` is ASCII in the specification's form, as nearly every name: it is its own alias, and harmless."""
    return _IS_AN_ALIAS.fullmatch(name) is not None


def is_specified_name(name: str) -> bool:
    """Whether `name` has the specification's form: NFKC, lowercase letters of any script, digits, single hyphens."""
    return bool(name) and name == safe_alias(name)


def is_utf_8(path: str) -> bool:
    """Whether a name or path can be written in UTF-8, as every report is."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def typed_command(command: str, *names: str, option: str = "") -> str:
    """Return a command for skills as it is typed, with an `option`: the names quoted, and none taken for an option."""
    typed = shlex.join(names)
    begins_so = any(name.startswith("-") for name in names)
    return " ".join(filter(None, [command, option, "--", typed] if begins_so else [command, typed, option]))


def shown_name(name: str) -> str:
    """Return the name that a skill is shown and loaded by: its own, or its alias if not all of it can be shown."""
    seen = for_model(name)
    return name if seen == name else safe_alias(name) or seen


def near_names(wanted: str, names: Iterable[str], *, limit: int = 3) -> list[str]:
    """Return at most `limit` of `names` that resemble `wanted`, the nearest first."""
    from rapidfuzz import fuzz, process  # imported here, as few commands need it

    by_folded: dict[str, str] = {}
    for name in names:
        by_folded.setdefault(fold_name(name), name)
    found = process.extract(fold_name(wanted), list(by_folded), scorer=fuzz.ratio, limit=limit, score_cutoff=_CUTOFF)
    return [by_folded[folded] for folded, _, _ in found]


def not_found(wanted: str, names: Iterable[str], *, search_tool: str, reason: str = "") -> SkillNotFound:
    """Return the not-found error with the nearest names, the first in order, and the `reason` if known."""
    # They mostly come in order.
    available = sorted(dict.fromkeys(names))
    near = near_names(wanted, available)
    guess = "did you mean " + " or ".join(repr(name) for name in near) + "? " if near else ""
    if near and set(near) == set(available):
        return SkillNotFound(wanted, near=near, hint=guess.strip(), reason=reason)
    more = len(available) - _LISTED_NAMES
    listed = ", ".join(available[:_LISTED_NAMES]) or "(none)"
    rest = (f" and {more:,} more" + (f", which {search_tool} finds" if search_tool else "")) if more > 0 else ""
    hint = f"{guess}{'A' if guess else 'a'}vailable skills: {listed}{rest}"
    return SkillNotFound(wanted, near=near, hint=hint, reason=reason)
