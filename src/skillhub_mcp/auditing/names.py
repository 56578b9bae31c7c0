"""Names of a library that can be mistaken for another: by their look, or by one letter. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from skillhub_mcp.auditing.characters import skeleton
from skillhub_mcp.auditing.rules import AuditFinding, found

# Short names are near each other by chance, and comparing more takes too much memory.
_SHORTEST = 6
_MOST_COMPARED = 20_000


def look_alikes(names: Mapping[str, str]) -> dict[str, tuple[AuditFinding, ...]]:
    """Return by directory the skills whose names look like another's; the plain ASCII one is the original.

    `names` are the skills' names by directory.
    """
    by_look: dict[str, dict[str, str]] = defaultdict(dict)
    for directory, name in names.items():
        by_look[skeleton(name)][directory] = name
    findings: dict[str, tuple[AuditFinding, ...]] = {}
    for alike in by_look.values():
        strange = {name: _strangeness(name) for name in alike.values()}
        least, most = min(strange.values()), max(strange.values())
        for directory, name in alike.items():
            other = next((one for one in strange if one != name), None)
            if other is not None and not least == strange[name] < most:
                findings[directory] = (found("name-look-alike", f"{name!r} looks like {other!r}"),)
    return findings


def one_letter_apart(names: Mapping[str, str], origins: Mapping[str, str]) -> dict[str, tuple[AuditFinding, ...]]:
    """Return by directory the skills whose names differ by one letter from a skill's of another origin."""
    by_name: dict[str, list[str]] = defaultdict(list)
    for directory, name in names.items():
        by_name[name].append(directory)
    if len(by_name) > _MOST_COMPARED:
        return {}
    findings: dict[str, list[AuditFinding]] = defaultdict(list)
    for pair in _near_pairs(name for name in by_name if len(name) >= _SHORTEST):
        for own, other in (pair, pair[::-1]):
            for directory in by_name[own]:
                near = next((one for one in by_name[other] if origins[one] != origins[directory]), None)
                if near is not None:
                    message = f"{own!r} is one letter away from {other!r} of {origins[near]}"
                    findings[directory].append(found("name-near", message))
    return {directory: tuple(own) for directory, own in findings.items()}


def _strangeness(name: str) -> int:
    """Return how many characters of a name are not plain letters and hyphens."""
    return sum(not ("a" <= character <= "z" or character == "-") for character in name)


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
