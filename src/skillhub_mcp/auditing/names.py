"""Names of a library that can be taken for another: by their look, by one letter, or by shadowing. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from skillhub_mcp.auditing.characters import skeleton
from skillhub_mcp.auditing.rules import AuditFinding, found

# Short names are near to each other by chance, and comparing more takes more memory than it is worth.
_SHORTEST = 6
_MOST_COMPARED = 20_000


@dataclass(frozen=True, slots=True)
class NamedSkill:
    """A skill as far as its name goes: its directory, its name, and the place it comes from."""

    directory: str
    name: str
    origin: str


def look_alikes(skills: Iterable[NamedSkill]) -> Mapping[str, tuple[AuditFinding, ...]]:
    """Return by directory the skills whose names look like another's; the plain ASCII one is the original."""
    by_look: dict[str, list[NamedSkill]] = defaultdict(list)
    for skill in skills:
        by_look[skeleton(skill.name)].append(skill)
    findings: dict[str, tuple[AuditFinding, ...]] = {}
    for alike in by_look.values():
        if len({one.name for one in alike}) < 2:  # noqa: PLR2004 - two are a pair
            continue
        plainest = min(map(_strangeness, alike))
        for one in alike:
            other = next((two for two in alike if two.name != one.name), None)
            if other is None or (_strangeness(one) == plainest and any(_strangeness(two) > plainest for two in alike)):
                continue
            findings[one.directory] = (found("name-look-alike", f"{one.name!r} looks like {other.name!r}"),)
    return findings


def near_and_shadowed(skills: Iterable[NamedSkill]) -> Mapping[str, tuple[AuditFinding, ...]]:
    """Return by directory the skills with a name that another origin has too, or has but for one letter."""
    listed = list(skills)
    findings: dict[str, list[AuditFinding]] = defaultdict(list)
    by_name: dict[str, list[NamedSkill]] = defaultdict(list)
    for skill in listed:
        by_name[skill.name].append(skill)
    for same in by_name.values():
        if len({one.origin for one in same}) > 1:
            for one in same:
                other = next(two for two in same if two.origin != one.origin)
                message = f"{other.origin} has a skill {one.name!r} as well"
                findings[one.directory].append(found("name-shadowed", message))
    if len(by_name) <= _MOST_COMPARED:
        for first, second in _one_letter_apart(name for name in by_name if len(name) >= _SHORTEST):
            for own, others in ((by_name[first], by_name[second]), (by_name[second], by_name[first])):
                for skill in own:
                    near = next((two for two in others if two.origin != skill.origin), None)
                    if near is not None:
                        message = f"{skill.name!r} is one letter away from {near.name!r} of {near.origin}"
                        findings[skill.directory].append(found("name-near", message))
    return {directory: tuple(own) for directory, own in findings.items()}


def _strangeness(skill: NamedSkill) -> int:
    """Return how many characters of a name are not plain letters and hyphens."""
    return sum(not ("a" <= character <= "z" or character == "-") for character in skill.name)


def _one_letter_apart(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each two names that differ by one letter put in, left out or replaced."""
    by_rest: dict[tuple[int, str], list[str]] = defaultdict(list)
    known = set(names)
    for name in sorted(known):
        for at in range(len(name)):
            rest = name[:at] + name[at + 1 :]
            if rest in known:
                yield rest, name
            by_rest[at, rest].append(name)
    pairs = {
        (first, second)
        for alike in by_rest.values()
        if len(alike) > 1
        for number, first in enumerate(alike)
        for second in alike[number + 1 : number + 4]
    }
    yield from sorted(pairs)
