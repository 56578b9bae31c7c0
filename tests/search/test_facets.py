"""Facets: how many skills each category, tag and source has, the most frequent first."""

from __future__ import annotations

from tests.search.builders import make_skill

from skillhub_mcp.search.facets import facets_of


def test_facets_are_sorted_by_count_then_name() -> None:
    skills = [
        make_skill("a", category="docs", tags=("pdf", "forms")),
        make_skill("b", category="build", tags=("pdf",)),
        make_skill("c", category="docs", tags=("csv",)),
        make_skill("d"),
    ]
    facets = facets_of(skills, ["hub", "user", "hub", "hub"])
    assert list(facets.categories.items()) == [("docs", 2), ("build", 1)]
    assert list(facets.tags.items()) == [("pdf", 2), ("csv", 1), ("forms", 1)]
    assert list(facets.sources.items()) == [("hub", 3), ("user", 1)]


def test_at_most_ten_values_are_listed() -> None:
    skills = [make_skill(f"s{number}-{one}", tags=(f"t{number:02}",)) for number in range(12) for one in range(number)]
    facets = facets_of(skills, ["hub"] * len(skills))
    assert list(facets.tags) == [f"t{number:02}" for number in range(11, 1, -1)]
