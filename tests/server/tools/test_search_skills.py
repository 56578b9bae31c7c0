"""search_skills as a client sees it."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SkillWriter
from tests.server.sessions import ask, call, in_process

from skillhub_mcp.hub import SearchAnswer, SkillHub

Environment = dict[str, str]
EXAMPLES = Path(__file__).parents[3] / "examples" / "skills"


def names(environment: Environment, query: str, **arguments: object) -> list[str]:
    return [skill["name"] for skill in ask(environment, "search_skills", query=query, **arguments).json["skills"]]


@pytest.mark.acceptance("S2-8")
@pytest.mark.parametrize(
    "task", ["extract invoice number from PDF", "Python で請求書 PDF からインボイス番号を取って invoice PDF"]
)
def test_a_task_in_plain_words_finds_the_skill_that_fits(hub_environment: Environment, task: str) -> None:
    assert names({**hub_environment, "SKILLS_DIR": str(EXAMPLES)}, task)[0] == "pdf-invoice-extractor"


@pytest.mark.acceptance("S2-9")
def test_blanks_in_the_query_make_no_difference(hub_environment: Environment, write_skill: SkillWriter) -> None:
    write_skill("pdf-reader", "Reads PDF files aloud.")
    write_skill("csv-reader", "Reads CSV files aloud.")
    plain = ask(hub_environment, "search_skills", query="read PDF files").json
    assert plain["skills"]
    assert ask(hub_environment, "search_skills", query="  read \n\t PDF   files ").json == plain


@pytest.mark.acceptance("S2-10")
@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_an_empty_query_lists_what_there_is_by_name_and_says_so(
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
@pytest.mark.acceptance("S2-12", "S2-47")
def test_every_field_is_searched_and_the_body_only_if_it_is_chosen(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    write_skill("quokka-care", "Wombats.", category="numbats", tags="bilbies", body="Thylacine.\n")
    without_body = {**hub_environment, "SEARCH_FIELDS": "name,description,tags,category"}
    for word in ("quokka", "wombats", "numbats", "bilbies"):
        assert names(hub_environment, word) == ["quokka-care"], word
        assert names(without_body, word) == ["quokka-care"], word
    assert names(hub_environment, "thylacine") == ["quokka-care"]
    assert names(without_body, "thylacine") == []
    assert names({**hub_environment, "SEARCH_FIELDS": "description"}, "quokka") == []


@pytest.mark.slow
@pytest.mark.acceptance("S2-13", "S2-46")
def test_tags_and_category_match_in_any_case(hub_environment: Environment, write_skill: SkillWriter) -> None:
    write_skill("one", "Something.", category="DevOps", tags="KuBernetes, Helm")
    assert names(hub_environment, "kubernetes") == ["one"]
    assert names(hub_environment, "HELM") == ["one"]
    assert names(hub_environment, "devops") == ["one"]
    assert names(hub_environment, "something", category="DEVOPS") == ["one"]
    assert names(hub_environment, "something", category="other") == []


@pytest.mark.slow
@pytest.mark.acceptance("S2-7", "S2-14", "S2-20", "S2-25", "S2-35", "S2-70")
def test_a_skill_outside_the_filter_is_neither_found_nor_loaded_nor_read(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    write_skill("open-one", "Reads PDF files.", files={"a.md": "a"})
    write_skill("closed-one", "Reads PDF files.", files={"a.md": "a"})
    filtered = {**hub_environment, "SKILLHUB_ENABLED_SKILLS": "open-one"}
    assert names(filtered, "PDF") == ["open-one"]
    assert ask(filtered, "load_skill", skill_name="closed-one").code == "SKILL_DISABLED"
    assert ask(filtered, "read_skill_file", skill_name="closed-one", file_path="a.md").code == "SKILL_DISABLED"
    assert ask(filtered, "load_skill", skill_name="open-one").error is None
    # The index still holds both: another server over the same database finds the other.
    assert sorted(names({**hub_environment, "SKILLHUB_SKIP_AUTO_REINDEX": "1"}, "PDF")) == ["closed-one", "open-one"]


@pytest.mark.slow
@pytest.mark.acceptance("S2-71", "S2-72")
def test_categories_filter_only_where_no_names_are_given(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    write_skill("a-data", "Reads PDF files.", category="data")
    write_skill("b-docs", "Reads PDF files.", category="Docs")
    write_skill("c-none", "Reads PDF files.")
    by_category = {**hub_environment, "SKILLHUB_ENABLED_CATEGORIES": "DOCS"}
    assert names(by_category, "PDF") == ["b-docs"]
    assert names({**by_category, "SKILLHUB_ENABLED_SKILLS": "a-data"}, "PDF") == ["a-data"]
    assert sorted(names(hub_environment, "PDF")) == ["a-data", "b-docs", "c-none"]


@pytest.mark.slow
@pytest.mark.acceptance("S2-14", "S2-7")
def test_skills_outside_the_filter_take_no_place_from_those_within_however_many_fit_better(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    # More than are looked at closely for one answer.
    for number in range(130):
        write_skill(f"closed-{number:03}", "Walrus walrus walrus.")
    filler = " ".join(f"filler{word}" for word in range(200))
    write_skill("open-one", f"{filler} walrus {filler}", category="special", tags="rare")
    assert names(hub_environment, "walrus", limit=100).count("open-one") == 0
    assert names({**hub_environment, "SKILLHUB_ENABLED_SKILLS": "open-one"}, "walrus", limit=1) == ["open-one"]
    assert names({**hub_environment, "SKILLHUB_ENABLED_CATEGORIES": "special"}, "walrus", limit=1) == ["open-one"]
    assert names(hub_environment, "walrus", limit=1, category="special") == ["open-one"]
    assert names(hub_environment, "walrus", limit=1, tags=["rare"]) == ["open-one"]


def strong_and_weak(write_skill: SkillWriter, *, weak: int) -> None:
    write_skill("zebra-zebra", "Zebra.", tags="zebra", category="zebra")
    for number in range(weak):
        filler = " ".join(f"filler{number}x{word}" for word in range(400))
        write_skill(f"weak-{number}", f"{filler} zebra {filler}")


@pytest.mark.acceptance("S2-16")
def test_five_hits_or_fewer_are_not_cut(hub_environment: Environment, write_skill: SkillWriter) -> None:
    strong_and_weak(write_skill, weak=4)
    assert len(names({**hub_environment, "SEARCH_THRESHOLD": "1"}, "zebra")) == 5


@pytest.mark.acceptance("S2-17")
def test_of_more_hits_the_weak_ones_are_cut(hub_environment: Environment, write_skill: SkillWriter) -> None:
    strong_and_weak(write_skill, weak=6)
    assert names({**hub_environment, "SEARCH_THRESHOLD": "1"}, "zebra") == ["zebra-zebra"]
    uncut = {**hub_environment, "SEARCH_THRESHOLD": "0"}
    skills = ask(uncut, "search_skills", query="zebra", limit=10).json["skills"]
    assert len(skills) == 7
    assert skills[0]["name"] == "zebra-zebra"


@pytest.mark.slow
@pytest.mark.acceptance("S2-18", "S2-15")
def test_ten_hits_are_returned_unless_told_otherwise(hub_environment: Environment, write_skill: SkillWriter) -> None:
    for number in range(50):
        write_skill(f"reader-{number:02}", f"Reads PDF files, kind {number}.")
    assert len(names(hub_environment, "PDF")) == 10
    assert len(names(hub_environment, "PDF", limit=3)) == 3
    assert len(names(hub_environment, "PDF", limit=50)) == 50
    assert len(names({**hub_environment, "SEARCH_LIMIT": "4"}, "PDF")) == 4


@pytest.mark.acceptance("S2-19")
def test_hits_carry_name_description_score_and_category_best_first(
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


@pytest.mark.slow
@pytest.mark.acceptance("S2-21")
@pytest.mark.parametrize(
    "query",
    [
        '"pdf',
        "pdf*",
        "pdf:",
        "a AND OR NOT",
        "(pdf",
        "pdf^2 ~",
        "🎉 pdf",
        "C++",
        "\\",
        "'; DROP TABLE skills; --",
    ],
)
def test_characters_of_query_languages_break_nothing(
    hub_environment: Environment, write_skill: SkillWriter, query: str
) -> None:
    write_skill("pdf-reader", "Reads PDF files.")
    assert ask(hub_environment, "search_skills", query=query).error is None


@pytest.mark.acceptance("S2-21")
@pytest.mark.parametrize(
    ("description", "query"),
    [
        ("会議の議事録を作成する。", "議事録"),
        ("从发票中提取号码。", "发票 号码"),
        ("회의록 작성 방법.", "회의록 작성"),
        ("Составляет протокол совещания.", "протокол"),
    ],
)
def test_every_script_is_searched(
    hub_environment: Environment, write_skill: SkillWriter, description: str, query: str
) -> None:
    write_skill("the-one", description)
    write_skill("another", "Deploys containers.")
    assert names(hub_environment, query) == ["the-one"]


def test_no_fitting_skill_is_an_empty_list_with_a_note(hub_environment: Environment, write_skill: SkillWriter) -> None:
    assert "has no skill; put a folder" in ask(hub_environment, "search_skills", query="xyzzy").json["note"]
    write_skill("pdf-reader", "Reads PDF files.")
    answer = ask(hub_environment, "search_skills", query="xyzzy")
    assert answer.json["skills"] == []
    assert "Nothing fits" in answer.json["note"]


def test_a_long_description_is_shortened_in_a_hit(hub_environment: Environment, write_skill: SkillWriter) -> None:
    write_skill("long-one", "pdf " * 1000)
    (hit,) = ask(hub_environment, "search_skills", query="pdf").json["skills"]
    assert len(hit["description"]) <= 1024
    assert hit["description"].endswith("…")


def test_an_answer_has_three_descriptions_whole_and_the_others_as_far_as_tells_them_apart(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    more = "It lists the pages, fields, fonts and links of any file that it is given. " * 5
    for number in range(9):
        write_skill(f"pdf-{number}", f"Reads PDF files, kind {number}. {more}")
    many = ask(hub_environment, "search_skills", query="PDF files")
    assert [skill["description"].endswith("…") for skill in many.json["skills"]] == [False] * 3 + [True] * 6
    assert many.structured == many.json
    # In a list by name no skill comes before another.
    listed = ask(hub_environment, "search_skills", query="").json["skills"]
    assert all(skill["description"].endswith("…") for skill in listed)


@pytest.mark.slow
def test_a_change_to_a_skill_is_seen_by_the_running_server(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    write_skill("pdf-reader", "Reads PDF files.")

    async def go() -> list[list[str]]:
        async with in_process(hub_environment) as client:

            async def until(query: str, *, found: bool) -> None:
                for _ in range(100):
                    if bool((await call(client, "search_skills", query=query)).json["skills"]) is found:
                        return
                    await asyncio.sleep(0.1)
                raise AssertionError(f"{query}: {found} was not seen")

            await until("PDF", found=True)
            write_skill("pdf-reader", "Juggles.")
            write_skill("new-one", "Paints walls.")
            await until("juggles", found=True)
            await until("walls", found=True)
            await until("PDF", found=True)  # it is still in the name
            (Path(hub_environment["SKILLS_DIR"]) / "new-one" / "SKILL.md").unlink()
            await until("walls", found=False)
            return []

    asyncio.run(go())


def test_hits_say_what_they_were_found_by_on_request(hub_environment: Environment, write_skill: SkillWriter) -> None:
    write_skill("invoice-sorter", "Sorts invoices into folders.")
    write_skill("painter", "Paints walls.")
    (hit,) = ask(hub_environment, "search_skills", query="die Rechnungen sortieren").json["skills"]
    assert not {"reason", "explanation"} & hit.keys()
    answer = ask(hub_environment, "search_skills", query="die Rechnungen sortieren", explain=True).json
    assert answer["explained"] == {"served": 2, "searched": 2, "considered": 1}
    assert answer["skills"][0]["reason"] == "Rechnungen, sortieren"
    (told,) = [one for one in answer["skills"][0]["explanation"] if one.startswith("invoice ")]
    assert told.endswith(" in name, description (translation of Rechnungen)")


@pytest.mark.slow
def test_where_nothing_fits_the_answer_says_so_and_holds_near_misses_alone(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
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
@pytest.mark.acceptance("S2-17")
@pytest.mark.parametrize(("confidence", "hits"), [("0.2", 5), ("0", 13)])
def test_without_a_confidence_limit_a_clear_first_hit_does_not_shorten_the_answer(
    hub_environment: Environment, write_skill: SkillWriter, confidence: str, hits: int
) -> None:
    write_skill("invoice-sorter", "Sorts scanned invoices into folders.")
    for number in range(12):
        write_skill(f"tool-{number}", f"Prints invoices of customer {number} on paper in colour.")
    environment = {**hub_environment, "SEARCH_LIMIT": "13", "SEARCH_THRESHOLD": "0", "SEARCH_CONFIDENCE": confidence}
    answer = ask(environment, "search_skills", query="sort scanned invoices into folders").json
    assert answer["skills"][0]["name"] == "invoice-sorter"
    assert len(answer["skills"]) == hits


def test_tags_narrow_the_search_and_every_one_must_be_there(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    write_skill("one", "Reads PDF files.", tags="a, b")
    write_skill("two", "Reads PDF files and more.", tags="b")
    assert sorted(names(hub_environment, "PDF", tags=["B"])) == ["one", "two"]
    assert names(hub_environment, "PDF", tags=["b", "A"]) == ["one"]
    assert names(hub_environment, "PDF", tags=["c"]) == []
    assert ask(hub_environment, "search_skills", query="PDF", tags=["x"] * 21).code == "INVALID_ARGUMENT"


def test_a_copy_is_named_beside_what_it_copies(hub_environment: Environment, write_skill: SkillWriter) -> None:
    text = "Extract tables, figures and footnotes from scanned annual reports of public companies."
    write_skill("reports", text, body="Step by step. " * 30)
    write_skill("reports-too", text, body="Step by step. " * 31)
    (hit,) = ask(hub_environment, "search_skills", query="tables of annual reports").json["skills"]
    assert (hit["name"], hit["copies"]) == ("reports", ["reports-too"])


@pytest.mark.slow
@pytest.mark.acceptance("S2-8")
@pytest.mark.parametrize("provider", ["none", "local"])
@pytest.mark.parametrize("mode", ["auto", "fts", "vector", "hybrid"])
def test_every_mode_finds_it_with_and_without_word_vectors(
    hub_environment: Environment, write_skill: SkillWriter, provider: str, mode: str
) -> None:
    write_skill("invoice-sorter", "Sorts invoices into folders.")
    write_skill("painter", "Paints walls.")
    write_skill("baker", "Bakes bread.")
    environment = {**hub_environment, "EMBEDDING_PROVIDER": provider, "SEARCH_MODE": mode}
    assert names({**environment, "SEARCH_CONFIDENCE": "0"}, "sort invoices")[0] == "invoice-sorter"


def test_every_search_runs_beside_the_loop_and_a_filter_does_not_change_the_answer(
    hub_environment: Environment, write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("walrus", "Feeds the walrus.", category="animals")
    in_the_loop = []
    search = SkillHub.search

    def noted(*args: Any, **kwargs: Any) -> SearchAnswer:
        in_the_loop.append(threading.current_thread() is threading.main_thread())
        return search(*args, **kwargs)

    monkeypatch.setattr(SkillHub, "search", noted)

    async def scenario() -> list[Any]:
        async with in_process(hub_environment) as client:
            asked: list[dict[str, Any]] = [{}, {}, {"category": "animals"}, {"source": "hub"}, {"tags": ["none"]}]
            return [(await call(client, "search_skills", query="feed", **more)).json for more in asked]

    first, *others, nothing = asyncio.run(scenario())
    assert all(other == first for other in others)
    assert nothing["skills"] == []
    assert in_the_loop == [False] * 5


@pytest.mark.slow
def test_a_pasted_text_is_searched_by_its_rarest_words_and_the_note_says_so(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    words = [f"common{number}x" for number in range(150)]
    for number in range(3):
        write_skill(f"all-words-{number}", f"Knows {' '.join(words)}.")
    write_skill("walrus-feeder", "Feeds a walrus.")
    log = " ".join(f"line{number}" for number in range(6_000))
    pasted = f"{' '.join(words)} {log} and then the walrus"
    assert 50_000 < len(pasted) < 65_536
    answer = ask(hub_environment, "search_skills", query=pasted).json
    assert "its words the 100 rarest were searched" in answer["note"]
    assert "walrus-feeder" in {skill["name"] for skill in answer["skills"]}
    assert "note" not in ask(hub_environment, "search_skills", query="feed the walrus").json
