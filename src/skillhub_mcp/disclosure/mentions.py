"""Which skills does a text mention? `$name`, `[$name](path)`, or the path of a SKILL.md (seed 000, goal 4). Pure.

Rule 1: only a whole token counts: `$pdf.` mentions pdf, `$pdfx` does not.
Rule 2: a path beats a name, and a path that leads nowhere is never replaced by the name beside it.
Rule 3: a name that several skills have resolves to none of them, unless the text also gives the path of one.
Rule 4: names in capitals (`$PATH`, `$XDG_CONFIG_HOME`) belong to the environment, never to a skill.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.names import safe_alias
from skillhub_mcp.skills.suggestions import near_names

Why = Literal["unknown", "ambiguous", "off"]

_MENTION = re.compile(
    r"""
    (?<![A-Za-z0-9_$\\/])\[\$(?P<linked>[^\]\s]+)\]\((?P<path>(?:[^()]|\([^()]*\))*)\)
    | (?<![A-Za-z0-9_$\\])\$(?P<name>\w(?:[\w-]|[:.](?=\w))*)
    | (?P<bare>(?<![^\s"'`(<\[])(?:~|\.{1,2})?[^\s"'`()<>\[\]$]*?/SKILL\.md(?![\w-]))
    """,
    re.VERBOSE,
)
_MOST_GUESSES = 8
_OF_THE_ENVIRONMENT = re.compile(r"[A-Z_][A-Z0-9_]*")
# In a script without blanks the next word stands right behind a name of another script.
_LATIN = re.compile(r"[A-Za-z0-9-]+(?=[^\x00-\x7f])")


@dataclass(frozen=True, slots=True)
class Mentionable:
    """A skill that a text may mention, by the canonical path of its directory.

    `handle` loads it; one that is not `on` is known and cannot be loaded.
    """

    name: str
    directory: str
    handle: str
    on: bool = True


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A mention that leads to no skill. `candidates` are the directories of namesakes, or names that look alike."""

    mention: str
    why: Why
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a text mentions, each skill once, in the order of the text."""

    skills: tuple[Mentionable, ...]
    unresolved: tuple[Unresolved, ...]


@dataclass(frozen=True, slots=True)
class _Mention:
    """Something that was written: a path, or a name, of which the first that is somebody's counts."""

    written: str
    names: tuple[str, ...] = ()
    path: str | None = None


def resolve(text: str, skills: Sequence[Mentionable], *, cwd: str) -> Resolution:
    """Return which of `skills` the text mentions; relative paths count from `cwd`."""
    mentions = list(_mentions(text))
    by_place = {skill.directory: skill for skill in skills}
    by_name: dict[str, list[Mentionable]] = {}
    for one in skills if any(mention.names for mention in mentions) else ():
        for name in set(_names(one)):
            by_name.setdefault(name, []).append(one)
    at = {m.path: by_place.get(_place(m.path, cwd)) for m in mentions if m.path is not None}
    named_by_path = {name for skill in at.values() if skill is not None for name in _names(skill)}
    found: dict[str, Mentionable] = {}
    failed: dict[str, Unresolved] = {}
    for mention in mentions:
        if mention.written in failed:
            continue
        if mention.path is not None:
            there = at[mention.path]
            if there is None:
                failed[mention.written] = Unresolved(mention.written, "unknown")
            elif there.on:
                found.setdefault(there.directory, there)
            else:
                failed[mention.written] = Unresolved(mention.written, "off", (there.directory,))
        elif not named_by_path & set(mention.names):
            _by_name(mention, by_name, found, failed)
    return Resolution(tuple(found.values()), tuple(failed.values()))


def _by_name(
    mention: _Mention,
    by_name: Mapping[str, Sequence[Mentionable]],
    found: dict[str, Mentionable],
    failed: dict[str, Unresolved],
) -> None:
    same = next((by_name[name] for name in mention.names if name in by_name), ())
    usable = [skill for skill in same if skill.on]
    if len(usable) == 1:
        found.setdefault(usable[0].directory, usable[0])
    elif same:
        why: Why = "ambiguous" if usable else "off"
        failed[mention.written] = Unresolved(mention.written, why, tuple(s.directory for s in usable or same))
    elif not mention.names[0].isdigit():
        # A guess costs a walk over all the names: after so many slips there are no more.
        names = by_name if len(failed) < _MOST_GUESSES else ()
        near = near_names(mention.names[-1], [name for name in names if any(one.on for one in by_name[name])])
        failed[mention.written] = Unresolved(mention.written, "unknown", tuple(near))


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
            if not _OF_THE_ENVIRONMENT.fullmatch(names[-1]):
                yield _Mention(found[0], names)


def _names(skill: Mentionable) -> tuple[str, str]:
    return skill.name, safe_alias(skill.name)


def _place(path: str, cwd: str) -> str:
    """Return the canonical directory that a mentioned path means."""
    absolute = os.path.normpath(os.path.join(cwd, os.path.expanduser(path)))
    if os.path.basename(absolute) == SKILL_FILE:
        absolute = os.path.dirname(absolute)
    return os.path.realpath(absolute)
