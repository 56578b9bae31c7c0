"""`skillhub search`."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter, switch


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


def test_a_switched_link_to_the_skills_is_followed_at_once(
    skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path
) -> None:
    for number in range(3):
        write_skill("one", f"About walruses of revision{number}.", root=tmp_path / str(number))
    (tmp_path / "current").symlink_to("0")
    for number in range(3):
        switch(tmp_path / "current", Path(str(number)))
        done = skillhub("search", "walruses", "--skills-dir", str(tmp_path / "current"))
        assert f"revision{number}" in done.out


def test_limit_and_category_narrow_the_hits(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    for number in range(4):
        write_skill(f"pdf-{number}", "Reads PDF files.", category="odd" if number % 2 else "even")
    assert len(skillhub("search", "pdf", "--limit", "3", "--json").json["skills"]) == 3
    names = [hit["name"] for hit in skillhub("search", "--category", "ODD", "pdf", "--json").json["skills"]]
    assert sorted(names) == ["pdf-1", "pdf-3"]


def test_finding_nothing_succeeds(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("painter", "Paints walls.")
    done = skillhub("search", "xyzzy")
    assert (done.code, done.out, done.err) == (0, "No matching skills (searched 1).\n", "")
    assert skillhub("search", "xyzzy", "--json").json == {
        "skills": [],
        "confident": False,
        "searched": 1,
        "considered": 0,
        "facets": None,
    }


def test_near_misses_are_labelled(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    for number in range(7):
        write_skill(f"painter-{number}", f"Paints walls in colour number {number}.")
    vague = ("search", "sing", "serenades", "about", "lonely", "mountains", "and", "walls")
    done = skillhub(*vague)
    assert done.out.startswith("No good match (searched 7). Nearest:\n")
    answer = skillhub(*vague, "--json").json
    assert answer["confident"] is False
    assert len(answer["skills"]) == 5
    assert all(hit["score"] < 0.2 for hit in answer["skills"])
    assert len(skillhub(*vague, "--json", SEARCH_CONFIDENCE="0").json["skills"]) == 7


def test_explain_prints_why_each_hit_matched(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("invoices", "Sorts invoices.", body="Rechnung means invoice.\n")
    write_skill("painter", "Paints walls.")
    done = skillhub("search", "--explain", "die", "Rechnungen", "und", "walls")
    assert "invoice" in done.out
    assert "(translation of Rechnungen)" in done.out
    assert done.out.endswith("2 of 2 skills contain a word of the query; 2 are served.\n")
    parts = skillhub("search", "--explain", "--json", "invoices").json["skills"][0]["explanation"]
    assert [part.split(" in ")[1] for part in parts] == ["name, description, body"]


def test_without_words_every_skill_is_listed(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("pdf-reader", "Reads PDF files.", category="docs", tags="a, b")
    write_skill("painter", "Paints walls.", tags="b")
    done = skillhub("search")
    assert done.code == 0
    assert done.out.splitlines() == [
        "painter",
        "      Paints walls.",
        "pdf-reader  [docs]",
        "      Reads PDF files.",
        "categories: docs (1)",
        "tags: b (2), a (1)",
        "sources: hub (2)",
    ]


def test_copies_are_merged_into_one_hit(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    text = "Extract tables, figures and footnotes from scanned annual reports of public companies."
    write_skill("reports", text, body="Step by step. " * 30)
    write_skill("reports-too", text, body="Step by step. " * 31)
    hits = skillhub("search", "tables from annual reports", "--json").json["skills"]
    assert [(hit["name"], hit["copies"]) for hit in hits] == [("reports", ["reports-too"])]
    assert "      also as reports-too\n" in skillhub("search", "tables from annual reports").out
