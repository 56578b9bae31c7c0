"""Facets: how many skills each category, tag and source has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from skillhub_mcp.skills.model import Skill

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Facets:
    """The most frequent categories and tags, and the sources, each with how many skills it has, the most first."""

    categories: Mapping[str, int]
    tags: Mapping[str, int]
    sources: Mapping[str, int]


def facets_of(skills: Sequence[Skill], sources: Iterable[str]) -> Facets:
    """Return the facets of `skills`, which come from `sources`, one each."""
    return Facets(
        _most(Counter(skill.category for skill in skills if skill.category)),
        _most(Counter(tag for skill in skills for tag in skill.tags)),
        _most(Counter(sources)),
    )


def _most(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_SHOWN])
