"""Resolve mentions of skills in a text: `$name`, `[$name](path)`, or the path of a SKILL.md.

1. Only a whole token counts: `$pdf.` mentions pdf, `$pdfx` does not.
2. A path takes precedence over a name.
3. A name that several skills share resolves to none of them, unless the text also has the path of one.
4. Names in capitals (`$PATH`, `$XDG_CONFIG_HOME`) are environment variables, never skills.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from skillhub_mcp.environment import expand_home
from skillhub_mcp.skills.model import skill_directory
from skillhub_mcp.skills.names import near_names, safe_alias

Why = Literal["unknown", "ambiguous", "off"]

_MENTION = re.compile(
    r"""
    (?<![A-Za-z0-9_$\\/])\[\$(?P<linked>[^\[\]\s]+)\]\((?P<path>(?:[^()]|\([^()]*\))*)\)
    | (?<![A-Za-z0-9_$\\])\$(?P<name>\w(?:[\w-]|[:.](?=\w))*)
    | (?P<bare>(?<![^\s"'`(<\[])(?:~|\.{1,2})?[^\s"'`()<>\[\]$]*?/SKILL\.md(?![\w-]))
    """,
    re.VERBOSE,
)
# Each search for similar names compares all names.
_MAX_GUESSES = 8
_ENVIRONMENT_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
# In a script without spaces the next word follows a Latin name directly.
_LATIN = re.compile(r"[A-Za-z0-9-]+(?=[^\x00-\x7f])")


@dataclass(frozen=True, slots=True)
class Mentionable:
    """A skill that a text may mention. `handle` loads it; `real_directory` is its canonical path, if that differs."""

    name: str
    directory: str
    handle: str
    enabled: bool = True
    awaits_trust: bool = False
    real_directory: str = ""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A mention without a skill. `candidates` are the directories of the skills of that name, or similar names."""

    mention: str
    why: Why
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolution:
    """The skills that a text mentions, each once, in the order of the text, and the mentions without a skill."""

    skills: tuple[Mentionable, ...]
    unresolved: tuple[Unresolved, ...]


@dataclass(frozen=True, slots=True)
class _Mention:
    """A mention as written: a path, or possible names in order of preference."""

    written: str
    names: tuple[str, ...] = ()
    path: str | None = None


def resolve_mentions(text: str, skills: Sequence[Mentionable], *, cwd: str) -> Resolution:
    """Return the `skills` that the text mentions; relative paths are resolved from `cwd`."""
    mentions = list(_mentions(text))
    by_directory = {skill.real_directory or skill.directory: skill for skill in skills}
    by_path = {m.path: by_directory.get(_skill_directory(m.path, cwd)) for m in mentions if m.path is not None}
    named_by_path = {name for skill in by_path.values() if skill is not None for name in _names(skill)}
    by_name: dict[str, list[Mentionable]] = {}
    for skill in skills if any(mention.names for mention in mentions) else ():
        for name in set(_names(skill)):
            by_name.setdefault(name, []).append(skill)
    found: dict[str, Mentionable] = {}
    failed: dict[str, Unresolved] = {}
    for mention in mentions:
        if mention.written in failed or named_by_path & set(mention.names):
            continue
        named = next((by_name[name] for name in mention.names if name in by_name), [])
        same = [skill for skill in named if not skill.awaits_trust] or named
        if mention.path is not None and (at_path := by_path[mention.path]) is not None:
            same = [at_path]
        usable = [skill for skill in same if skill.enabled]
        if len(usable) == 1:
            found.setdefault(usable[0].directory, usable[0])
        elif same:
            why: Why = "ambiguous" if usable else "off"
            failed[mention.written] = Unresolved(mention.written, why, tuple(s.directory for s in usable or same))
        elif not (mention.names and mention.names[0].isdigit()):
            near = _near(mention, by_name) if len(failed) < _MAX_GUESSES else ()
            failed[mention.written] = Unresolved(mention.written, "unknown", near)
    return Resolution(tuple(found.values()), tuple(failed.values()))


def _near(mention: _Mention, by_name: Mapping[str, Sequence[Mentionable]]) -> tuple[str, ...]:
    enabled = [name for name, skills in by_name.items() if any(skill.enabled for skill in skills)]
    return tuple(near_names(mention.names[-1], enabled)) if mention.names else ()


def _mentions(text: str) -> Iterator[_Mention]:
    for found in _MENTION.finditer(text):
        if found["linked"] is not None:
            yield _Mention(found[0], path=found["path"].strip().strip("<>"))
        elif found["bare"] is not None:
            yield _Mention(found[0], path=found[0])
        else:
            name = unicodedata.normalize("NFKC", found["name"])
            latin = _LATIN.match(name)
            names = (name, latin[0]) if latin else (name,)
            if not _ENVIRONMENT_NAME.fullmatch(names[-1]):
                yield _Mention(found[0], names)


def _names(skill: Mentionable) -> tuple[str, str]:
    return skill.name, safe_alias(skill.name)


def _skill_directory(path: str, cwd: str) -> str:
    """Return the canonical directory of the skill that a mentioned path denotes."""
    return os.path.realpath(skill_directory(os.path.normpath(os.path.join(cwd, expand_home(path)))))
