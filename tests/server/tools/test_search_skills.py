"""search_skills as a client sees it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.server.connections import reached, two_ways
from tests.server.sessions import ask

Environment = dict[str, str]


def names(environment: Environment, query: str, **arguments: object) -> list[str]:
    return [skill["name"] for skill in ask(environment, "search_skills", query=query, **arguments).json["skills"]]


@pytest.mark.acceptance("S2-10")
@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_an_empty_query_lists_skills_by_name_and_says_so(
    hub_environment: Environment, write_skill: SkillWriter, query: str
) -> None:
    for number in range(12):
        write_skill(f"skill-{number:02}", category="even" if number % 2 == 0 else "odd", tags="x")
    answer = ask(hub_environment, "search_skills", query=query)
    assert answer.code is None
    assert [skill["name"] for skill in answer.json["skills"]] == [f"skill-{number:02}" for number in range(10)]
    assert answer.json["note"].startswith("Empty query: 10 of 12 skills by name.")
    assert answer.json["facets"] == {"categories": {"even": 6, "odd": 6}, "tags": {"x": 12}, "sources": {"hub": 12}}
    odd = ask(hub_environment, "search_skills", query=query, category="odd", limit=2).json
    assert [skill["name"] for skill in odd["skills"]] == ["skill-01", "skill-03"]
    assert odd["facets"]["categories"] == {"odd": 6}


@pytest.mark.slow
@pytest.mark.acceptance("S2-12", "S2-13", "S2-46", "S2-47")
def test_every_field_is_searched_in_any_case_and_the_body_only_by_choice(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    write_skill("quokka-care", "Wombats.", category="NumBats", tags="BilBies, Emus", body="Thylacine.\n")
    without_body = {**hub_environment, "SEARCH_FIELDS": "name,description,tags,category"}
    for word in ("quokka", "wombats", "numbats", "BILBIES", "emus"):
        assert names(hub_environment, word) == ["quokka-care"], word
        assert names(without_body, word) == ["quokka-care"], word
    assert names(hub_environment, "thylacine") == ["quokka-care"]
    assert names(without_body, "thylacine") == []
    assert names({**hub_environment, "SEARCH_FIELDS": "description"}, "quokka") == []
    assert names(hub_environment, "wombats", category="NUMBATS") == ["quokka-care"]
    assert names(hub_environment, "wombats", category="other") == []


@pytest.mark.slow
@pytest.mark.acceptance("S2-7", "S2-14", "S2-20", "S2-25", "S2-35", "S2-43", "S2-70")
def test_a_skill_outside_the_filter_is_not_found_loaded_read_or_run(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    write_skill("open-one", "Reads PDF files.", files={"a.md": "a"})
    write_skill("closed-one", "Reads PDF files.", files={"a.md": "a"})
    filtered = {**hub_environment, "SKILLHUB_ENABLED_SKILLS": "open-one"}
    assert names(filtered, "PDF") == ["open-one"]
    assert ask(filtered, "load_skill", skill_name="closed-one").code == "SKILL_DISABLED"
    assert ask(filtered, "read_skill_file", skill_name="closed-one", file_path="a.md").code == "SKILL_DISABLED"
    running = {**filtered, "SKILLHUB_ENABLE_RUN": "1"}
    assert ask(running, "run_skill_command", skill_name="closed-one", command="ls").code == "SKILL_DISABLED"
    assert ask(filtered, "load_skill", skill_name="open-one").error is None
    # The index still has both: another server on the same database finds the other.
    assert sorted(names({**hub_environment, "SKILLHUB_SKIP_AUTO_REINDEX": "1"}, "PDF")) == ["closed-one", "open-one"]


@pytest.mark.acceptance("S2-19")
def test_hits_have_name_description_score_and_category_best_first(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    write_skill("pdf-reader", "Reads PDF files.", category="docs")
    write_skill("other", "Reads files of many kinds, one of which might be a PDF, if one is there at all.")
    answer = ask(hub_environment, "search_skills", query="PDF reader")
    skills = answer.json["skills"]
    assert [set(skill) for skill in skills] == [
        {"name", "description", "score", "category"},
        {"name", "description", "score"},
    ]
    scores = [skill["score"] for skill in skills]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert answer.structured == answer.json


def test_hits_explain_their_match_on_request(hub_environment: Environment, write_skill: SkillWriter) -> None:
    write_skill("invoice-sorter", "Sorts invoices into folders.")
    write_skill("painter", "Paints walls.")
    (hit,) = ask(hub_environment, "search_skills", query="die Rechnungen sortieren").json["skills"]
    assert not {"reason", "explanation"} & hit.keys()
    answer = ask(hub_environment, "search_skills", query="die Rechnungen sortieren", explain=True).json
    assert answer["explained"] == {"served": 2, "searched": 2, "considered": 1}
    assert answer["skills"][0]["reason"] == "Rechnungen, sortieren"
    (explanation,) = [one for one in answer["skills"][0]["explanation"] if one.startswith("invoice ")]
    assert explanation.endswith(" in name, description (translation of Rechnungen)")


@pytest.mark.slow
def test_near_misses_are_marked_as_such(hub_environment: Environment, write_skill: SkillWriter) -> None:
    for number in range(6):
        write_skill(f"painter-{number}", f"Paints walls in colour number {number}.")
    vague = "sing serenades about lonely mountains and walls"
    answer = ask(hub_environment, "search_skills", query=vague)
    assert answer.json["confident"] is False
    assert answer.json["note"].startswith("Nothing fits well")
    assert len(answer.json["skills"]) == 5
    assert all(skill["score"] < 0.5 for skill in answer.json["skills"])
    assert answer.structured == answer.json
    nothing = ask(hub_environment, "search_skills", query="xyzzy").json
    assert nothing["confident"] is False
    assert nothing["skills"] == []
    fits = ask(hub_environment, "search_skills", query="paint walls").json
    assert "confident" not in fits
    all_of_them = ask({**hub_environment, "SEARCH_CONFIDENCE": "0"}, "search_skills", query=vague).json
    assert len(all_of_them["skills"]) == 6


@pytest.mark.slow
@pytest.mark.acceptance("S2-18", "S2-15")
def test_ten_hits_are_returned_by_default(hub_environment: Environment, write_skill: SkillWriter) -> None:
    for number in range(50):
        write_skill(f"reader-{number:02}", f"Reads PDF files, kind {number}.")
    assert len(names(hub_environment, "PDF")) == 10
    assert len(names(hub_environment, "PDF", limit=3)) == 3
    assert len(names(hub_environment, "PDF", limit=50)) == 50
    assert len(names({**hub_environment, "SEARCH_LIMIT": "4"}, "PDF")) == 4


@pytest.mark.slow
@pytest.mark.anyio
@two_ways
async def test_an_empty_search_names_the_cause_but_no_path_over_http(
    hub_environment: Environment, write_skill: SkillWriter, tmp_path: Path, way: tuple[str, str]
) -> None:
    file, refused, good = tmp_path / "file", tmp_path / "refused", tmp_path / "good"
    file.touch()
    write_skill("silent", frontmatter="name: silent", root=refused)
    write_skill("alpha", category="docs", root=good)
    local = way[0] == "stdio"

    async def note(environment: Environment, **arguments: str) -> str:
        async with reached(way, environment) as client:
            return str((await client.call("search_skills", **arguments)).json["note"])

    nothing = await note({**hub_environment, "SKILLS_DIR": f"{tmp_path / 'nowhere'}:{file}:{refused}"}, query="x")
    assert "does not exist" in nothing
    assert "is a file, not a directory" in nothing
    assert "is refused: there is no description (description-missing)" in nothing
    assert (str(tmp_path) in nothing, "correct SKILLS_DIR" in nothing) == (local, local)
    served = {**hub_environment, "SKILLS_DIR": str(good)}
    assert await note(served, query="things", category="doks") == (
        "No skill: 'doks' is the category of no skill that is served; did you mean 'docs'? categories: docs."
    )
    limited = await note({**served, "SKILLHUB_ENABLED_SKILLS": "beta"}, query="things")
    assert "SKILLHUB_ENABLED_SKILLS excludes 1 skill; correct it" in limited
