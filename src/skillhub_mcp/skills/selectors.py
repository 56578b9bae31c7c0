"""What rules and filters may name: a skill, a glob of names, or a group: `source:`, `category:` or `tag:`. Pure.

A skill goes by terms: its name, its alias, and one for each of its groups. A name that looks like a group is no term,
so that no skill can enter a group by its name.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from fnmatch import fnmatchcase

from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.names import fold_name

GROUPS = ("source", "category", "tag")
_GLOB = re.compile(r"[*?]")
_NAME_GLOB = re.compile(r"[a-z0-9*?\[\]!-]+")


def terms_of(skill: Skill) -> tuple[str, ...]:
    """Return the terms of a skill."""
    names = tuple(name for name in dict.fromkeys((skill.name, skill.alias)) if name and not _group(fold_name(name)))
    category = (f"category:{skill.category}",) if skill.category else ()
    return (*names, f"source:{skill.source}", *category, *(f"tag:{tag}" for tag in skill.tags))


def selects(selector: str, terms: Collection[str]) -> bool:
    """Whether a selector means the skill that goes by these terms. A glob of names matches names only."""
    if selector in terms:
        return True
    if not is_glob(selector):
        return False
    group = _group(selector)
    return any(fnmatchcase(term, selector) for term in terms if _group(term) == group)


def is_glob(text: str) -> bool:
    """Whether a text has a wildcard."""
    return _GLOB.search(text) is not None


def is_selector(text: str) -> bool:
    """Whether a text is a glob or a group, rather than the name of one skill."""
    return bool(_group(text)) or is_glob(text)


def is_rule_selector(text: str) -> bool:
    """Whether a rule may select by this: a glob of names in kebab-case, or a group in lower case."""
    if _group(text):
        return bool(text.partition(":")[2].strip()) and text == text.strip().lower()
    return is_glob(text) and _NAME_GLOB.fullmatch(text) is not None


def _group(text: str) -> str:
    group, colon, _ = text.partition(":")
    return group if colon and group in GROUPS else ""
