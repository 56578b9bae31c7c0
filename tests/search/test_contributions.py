"""What each word of a question contributes to a score, and in which fields."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.search.builders import candidates_of, make_skill, search_index

from skillhub_mcp.search.candidates import find_candidates
from skillhub_mcp.search.contributions import contributions
from skillhub_mcp.search.query import parse_query
from skillhub_mcp.search.ranking import text_scores

SKILLS = (
    make_skill("invoice-sorter", "Sort invoices into a folder.", tags=["folder"]),
    make_skill("bread", "Bake bread at home."),
)


@pytest.mark.parametrize(
    "text", ["sort invoices", "die Rechnungen aus dem Ordner", "invoces folder", "bread bread sort"]
)
def test_contributions_add_up_to_the_score(tmp_path: Path, text: str) -> None:
    index = search_index(tmp_path, SKILLS, ["The folder.", ""])
    query = parse_query(text, index.statistics)
    candidates = candidates_of(index, query, SKILLS)
    found = [contributions(query, candidates, number) for number in range(len(candidates.directories))]
    assert found
    assert [sum(one.worth for one in own) for own in found] == pytest.approx(
        text_scores(query, candidates).tolist(), rel=1e-5
    )
    for own in found:
        assert [one.worth for one in own] == sorted((one.worth for one in own), reverse=True)


def test_a_contribution_names_its_fields_and_origin(tmp_path: Path) -> None:
    index = search_index(tmp_path, SKILLS, ["The folder.", ""])
    query = parse_query("invoces folder", index.statistics)
    own = contributions(query, candidates_of(index, query, SKILLS), 0)
    by_word = {one.asked: one for one in own}
    assert by_word["folder"].fields == ("description", "tags", "body")
    assert by_word["invoces"].fields == ("name", "description")
    assert by_word["invoces"].describe().endswith(" in name, description (spelling of invoces)")
    named = contributions(query, candidates_of(index, query, SKILLS, frozenset({"name"})), 0)
    assert [(one.asked, one.fields) for one in named] == [("invoces", ("name",))]


def test_a_query_without_matches_has_no_contributions(tmp_path: Path) -> None:
    index = search_index(tmp_path, SKILLS)
    query = parse_query("bread", index.statistics)
    place = SKILLS[0].directory
    sorter = find_candidates(index, query.terms, among=frozenset({place}), wanted=1, named=place)
    assert sorter.directories == [place]
    assert contributions(query, sorter, 0) == []
