"""Group skills by domain: the category, else a tag or a word of the name that skills share."""

from __future__ import annotations

import heapq
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TypeVar

from skillhub_mcp.skills.model import Skill

T = TypeVar("T")

_MIN_WORD = 3
# Words of names that do not say what a skill does.
_STOP_WORDS = frozenset(
    (
        *("and", "for", "from", "the", "using", "with"),
        *("basics", "best", "expert", "guide", "helper", "pattern", "patterns", "practices", "pro"),
        *("builder", "create", "generator", "implementation", "integration", "setup"),
        *("management", "manager", "skill", "skills", "tool", "tools", "workflow", "workflows"),
    )
)


@dataclass(frozen=True, slots=True)
class Domain:
    """The skills of one domain; of skills that share nothing with others, without a name."""

    name: str
    skills: tuple[Skill, ...]


def group_by_domain(skills: Sequence[Skill]) -> tuple[Domain, ...]:
    """Return the domains of `skills`, largest first, then the skills without a domain, under an empty name."""
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


def domain_words(skill: Skill) -> frozenset[str]:
    """Return the words that may name a skill's domain: its tags or, without tags, the words of its name."""
    if skill.tags:
        return frozenset(skill.tags)
    words = frozenset(skill.alias.split("-")) - _STOP_WORDS
    return frozenset(word for word in words if len(word) >= _MIN_WORD or not word.isascii())


def _shared(skills: Iterable[Skill]) -> Iterable[tuple[str, list[Skill]]]:
    """Yield the word that most skills share with these skills, then that of most of the others, and so on."""
    by_word: dict[str, list[Skill]] = {}
    for skill in skills:
        for word in domain_words(skill):
            by_word.setdefault(word, []).append(skill)
    taken: set[str] = set()
    queue = [(-len(sharing), word) for word, sharing in by_word.items() if len(sharing) > 1]
    heapq.heapify(queue)
    while queue:
        count, word = heapq.heappop(queue)
        left = [skill for skill in by_word[word] if skill.directory not in taken]
        if len(left) == -count:
            taken.update(skill.directory for skill in left)
            yield word, left
        elif len(left) > 1:
            heapq.heappush(queue, (-len(left), word))


def rotate(items: Sequence[T], day: date) -> list[T]:
    """Return `items` rotated by the day: within as many days as there are items, each comes first once."""
    start = day.toordinal() % len(items) if items else 0
    return [*items[start:], *items[:start]]


def pick_examples(skills: Sequence[Skill], count: int, day: date) -> list[Skill]:
    """Return `count` of `skills` as examples for that day, in rotation."""
    # Names with the same beginning belong to similar skills: mix them, always in the same way.
    mixed = sorted(skills, key=lambda skill: (zlib.crc32(skill.name.encode("utf-8", "replace")), skill.name))
    return rotate(mixed, day)[:count]
