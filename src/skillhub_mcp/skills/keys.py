"""The top-level keys of a frontmatter: the specification's, those that hosts have added, and misspelt ones. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import lru_cache

SPECIFIED_KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")

# What each host documents, or shows in its source, as read from a skill's frontmatter. Codex adds no key: it reads
# `agents/openai.yaml` beside the SKILL.md instead.
EXTENSIONS: Mapping[str, tuple[str, ...]] = {
    "agent": ("Claude Code",),
    "argument-hint": ("Claude Code", "VS Code", "SkillHub"),
    "arguments": ("Claude Code",),
    "context": ("Claude Code", "VS Code"),
    "disable-model-invocation": ("Claude Code", "VS Code", "Cursor", "SkillHub"),
    "disallowed-tools": ("Claude Code",),
    "effort": ("Claude Code",),
    "hooks": ("Claude Code",),
    "model": ("Claude Code",),
    "paths": ("Claude Code",),
    "shell": ("Claude Code",),
    "user-invocable": ("Claude Code", "VS Code", "SkillHub"),
    "when_to_use": ("Claude Code",),
}
"""Keys outside the specification that change what a host does, and the hosts that read them at the top level only."""

READ_IN_BOTH_PLACES = ("author", "category", "tags", "version")
"""Keys that SkillHub reads at the top level and under `metadata` alike."""

DESCRIPTIVE_KEYS = frozenset((*READ_IN_BOTH_PLACES, "authors", "homepage", "keywords", "repository"))
"""Keys that only describe a skill: they mean the same under `metadata`, and no host acts on them at the top level."""

_SHORTEST_COMPARED = 8
_CUTOFF = 0.88
_IGNORED = re.compile(r"[-_\s]")
_OTHER_SPELLINGS = {"licence": "license"}


@lru_cache(maxsize=1024)
def meant_key(key: str) -> str | None:
    """Return the key that an unknown `key` misspells; None if it resembles none closely."""
    plain = _plain(key)
    same = _BY_PLAIN.get(plain) or _OTHER_SPELLINGS.get(plain)
    if same is not None or len(plain) < _SHORTEST_COMPARED:
        return same
    long = [other for other in _BY_PLAIN if len(other) >= _SHORTEST_COMPARED]
    near = difflib.get_close_matches(plain, long, n=1, cutoff=_CUTOFF)
    return _BY_PLAIN[near[0]] if near else None


def _plain(key: str) -> str:
    return _IGNORED.sub("", key).lower()


_BY_PLAIN = {_plain(key): key for key in (*SPECIFIED_KEYS, *EXTENSIONS)}
