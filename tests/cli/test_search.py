"""`skillhub search`."""

from __future__ import annotations

from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter


def test_hits_are_printed_best_first_with_score_category_and_one_line(
    skillhub: Skillhub, write_skill: SkillWriter
) -> None:
    write_skill("pdf-reader", "Reads PDF files.", category="docs")
    write_skill("scanner", "Turns paper into\n  PDF.")
    write_skill("painter", "Paints walls.")
    done = skillhub("search", "pdf", "reader")
    first, described, second, also_described = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert first.split("  ")[1:] == ["pdf-reader", "[docs]"]
    assert described.strip() == "Reads PDF files."
    assert second.split("  ")[1:] == ["scanner"]
    assert also_described.strip() == "Turns paper into PDF."


def test_json_carries_what_a_script_needs(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    directory = write_skill("pdf-reader", "Reads PDF files.", category="docs")
    write_skill("painter", "Paints walls.")
    answer = skillhub("search", "PDF", "--json").json
    score = answer["skills"][0].pop("score")
    assert 0 < score <= 1
    assert answer == {
        "skills": [
            {
                "name": "pdf-reader",
                "description": "Reads PDF files.",
                "category": "docs",
                "reason": "text",
                "path": str(directory.resolve()),
            }
        ],
        "searched": 2,
    }


def test_limit_and_category_narrow_the_hits(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    for number in range(4):
        write_skill(f"pdf-{number}", "Reads PDF files.", category="odd" if number % 2 else "even")
    assert len(skillhub("search", "pdf", "--limit", "3", "--json").json["skills"]) == 3
    names = [hit["name"] for hit in skillhub("search", "--category", "ODD", "pdf", "--json").json["skills"]]
    assert sorted(names) == ["pdf-1", "pdf-3"]


def test_nothing_that_fits_is_an_answer(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("painter", "Paints walls.")
    done = skillhub("search", "xyzzy")
    assert (done.code, done.out, done.err) == (0, "No skill of 1 fits.\n", "")
    assert skillhub("search", "xyzzy", "--json").json == {"skills": [], "searched": 1}


def test_words_after_two_hyphens_are_words(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("painter", "Paints walls with --force.")
    assert "painter" in skillhub("search", "--", "--force").out


def test_an_empty_query_and_a_limit_out_of_bounds_are_misuse(skillhub: Skillhub) -> None:
    empty = skillhub("search", "  ")
    assert (empty.code, empty.out, empty.err) == (
        2,
        "",
        "error: query is empty\n\nhint: describe the task in a few words\n",
    )
    assert skillhub("search", "x", "--limit", "0").err == "error: limit must be from 1 to 100\n"
    assert skillhub("search", "x", "--limit", "ten").err.startswith(
        "error: --limit must be a whole number, not 'ten'\n"
    )
