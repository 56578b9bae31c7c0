"""Of what kinds are the skills? Each falls into one domain: its category, else its most telling tag or word. Pure.

Most skills in the wild have neither a category nor tags; a word that many names share tells as much.
"""

from __future__ import annotations

import heapq
import math
import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TypeVar

from skillhub_mcp.skills.model import Skill

T = TypeVar("T")

_SHORTEST_WORD = 3
_STEPS = (7, 5, 3, 2, 1)
# What so many names have that it tells nothing of what a skill is about.
_SAY_NOTHING = frozenset(
    (
        *("and", "for", "from", "the", "using", "with"),
        *("basics", "best", "expert", "guide", "helper", "pattern", "patterns", "practices", "pro"),
        *("builder", "create", "generator", "implementation", "integration", "setup"),
        *("management", "manager", "skill", "skills", "tool", "tools", "workflow", "workflows"),
    )
)


@dataclass(frozen=True, slots=True)
class Domain:
    """Some skills of one kind. The name is empty for those that have nothing in common with any other."""

    name: str
    skills: tuple[Skill, ...]


def domains_of(skills: Sequence[Skill]) -> tuple[Domain, ...]:
    """Return the domains of `skills`, the largest first, and last what falls into none."""
    found: dict[str, list[Skill]] = {}
    without = []
    for skill in skills:
        if skill.category:
            found.setdefault(skill.category, []).append(skill)
        else:
            without.append(skill)
    for word, sharing in _shared(without):
        found.setdefault(word, []).extend(sharing)
    placed = {skill.directory for sharing in found.values() for skill in sharing}
    rest = tuple(skill for skill in without if skill.directory not in placed)
    named = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    domains = tuple(Domain(name, tuple(sharing)) for name, sharing in named)
    return (*domains, Domain("", rest)) if rest else domains


def words_of(skill: Skill) -> frozenset[str]:
    """Return the words that may name a skill's domain: its tags, or where there are none those of its name."""
    if skill.tags:
        return frozenset(skill.tags)
    words = frozenset(skill.alias.split("-")) - _SAY_NOTHING
    return frozenset(word for word in words if len(word) >= _SHORTEST_WORD or not word.isascii())


def _shared(skills: Iterable[Skill]) -> Iterable[tuple[str, list[Skill]]]:
    """Yield the word that most skills share, with them; then the one that most of the others share; and so on."""
    bearing: dict[str, list[Skill]] = {}
    for skill in skills:
        for word in words_of(skill):
            bearing.setdefault(word, []).append(skill)
    taken: set[str] = set()
    queue = [(-len(sharing), word) for word, sharing in bearing.items() if len(sharing) > 1]
    heapq.heapify(queue)
    while queue:
        count, word = heapq.heappop(queue)
        left = [skill for skill in bearing[word] if skill.directory not in taken]
        if len(left) == -count:
            taken.update(skill.directory for skill in left)
            yield word, left
        elif len(left) > 1:
            # Others were taken since it was counted.
            heapq.heappush(queue, (-len(left), word))


def turned(items: Sequence[T], day: date) -> list[T]:
    """Return `items` beginning elsewhere on each day: on as many days as there are items each stands first on one."""
    if not items:
        return []
    # A step that has no factor in common with their number leaves none out, however few of them are shown.
    step = next(step for step in _STEPS if math.gcd(step, len(items)) == 1)
    at = day.toordinal() * step % len(items)
    return [*items[at:], *items[:at]]


def examples(skills: Sequence[Skill], count: int, day: date, *, used: Collection[str]) -> list[Skill]:
    """Return which `count` of `skills` are shown on that day: of those that are not in `used`, by name, while there are
    any, and each of them comes round.
    """
    # Names that begin alike are of skills that are alike: mixed, and always in the same way.
    mixed = sorted(skills, key=lambda skill: (zlib.crc32(skill.name.encode("utf-8", "replace")), skill.name))
    unused = [skill for skill in mixed if skill.name not in used]
    known = [skill for skill in mixed if skill.name in used]
    return [*turned(unused, day), *turned(known, day)][:count]
