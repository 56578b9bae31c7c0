"""Names of skills: comparison, the specification's form, and the safe alias of any other name. Pure."""

from __future__ import annotations

import re
import shlex
import unicodedata

from skillhub_mcp.sanitize import for_model

# The last four count as letters and show nothing.
_NOT_IN_AN_ALIAS = re.compile("[\\W_\u115f\u1160\u3164\uffa0]+")
_IS_AN_ALIAS = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(?:-[a-z0-9]+)*")


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
