"""Names of a library that can be mistaken for another: by their look, or by one letter. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from skillhub_mcp.auditing.characters import skeleton
from skillhub_mcp.auditing.rules import AuditFinding, found

# Short names are near each other by chance, and comparing more takes too much memory.
_SHORTEST = 6
_MOST_COMPARED = 20_000


@dataclass(frozen=True, slots=True)
class NamedSkill:
    """The name of a skill, its directory, and where it is from."""

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


def one_letter_apart(skills: Iterable[NamedSkill]) -> Mapping[str, tuple[AuditFinding, ...]]:
    """Return by directory the skills whose names differ by one letter from a skill's of another origin."""
    by_name: dict[str, list[NamedSkill]] = defaultdict(list)
    for skill in skills:
        by_name[skill.name].append(skill)
    if len(by_name) > _MOST_COMPARED:
        return {}
    findings: dict[str, list[AuditFinding]] = defaultdict(list)
    for pair in _near_pairs(name for name in by_name if len(name) >= _SHORTEST):
        for own, other in (pair, pair[::-1]):
            for skill in by_name[own]:
                near = next((one for one in by_name[other] if one.origin != skill.origin), None)
                if near is not None:
                    message = f"{skill.name!r} is one letter away from {near.name!r} of {near.origin}"
                    findings[skill.directory].append(found("name-near", message))
    return {directory: tuple(own) for directory, own in findings.items()}


def _strangeness(skill: NamedSkill) -> int:
    """Return how many characters of a name are not plain letters and hyphens."""
    return sum(not ("a" <= character <= "z" or character == "-") for character in skill.name)


def _near_pairs(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of names that differ by one letter inserted, removed or replaced."""
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
