"""`skillhub why`: from where a skill is served, or what keeps it from that; and why it is not first."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter, own_file, own_rules


def test_a_served_skill_names_its_place_and_what_it_shadows(
    skillhub: Skillhub, write_skill: SkillWriter, skills_dir: Path, tmp_path: Path
) -> None:
    winner, loser = write_skill("pdf", "First."), write_skill("pdf", "Second.", root=tmp_path / "second")
    places = {"SKILLS_DIR": f"{skills_dir}:{tmp_path / 'second'}"}
    done = skillhub("why", "pdf", **places)
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        f"pdf is served: {winner} (hub)\n"
        f"  {loser}: shadowed by it: the winner's root comes first\n"
        f"{loser} is shadowed: {loser} (hub)\n"
        f"  {winner}: wins the name: the winner's root comes first; this one loads as {loser}\n"
    )
    for asked in (str(loser), f"{loser}/SKILL.md"):
        (account, *_) = skillhub("why", asked, "--json", **places).json["accounts"]
        assert (account["verdict"], account["directory"], account["handle"]) == ("shadowed", str(loser), str(loser))


def test_aliases_sources_and_paths_find_the_skill(
    skillhub: Skillhub, write_skill: SkillWriter, skills_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = write_skill("Chat with PDF", directory="chat")
    (tmp_path / "link").symlink_to(skills_dir)
    monkeypatch.chdir(tmp_path)
    for asked in ("Chat with PDF", "chat-with-pdf", "chat-with-pdf@hub", "chat", str(chat), "link/chat", "skills/chat"):
        (account,) = skillhub("why", asked, "--json").json["accounts"]
        assert (account["verdict"], account["directory"]) == ("served", str(chat)), asked


def test_each_reason_against_serving_names_its_file_and_line(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("pdf")
    people = write_skill("people", extra="disable-model-invocation: true")
    silent = write_skill("silent", frontmatter="name: silent\ndescription:")
    ruled, chosen = own_file("permissions.json"), own_file("choices.json")
    choices = '{"format": 1, "projects": {},\n\n "user": {\n  "other": false,\n  "pdf": false}}'

    def reported(name: str, **settings: str) -> tuple[str, list[tuple[str, int | None]], str]:
        done = skillhub("why", name, "--json", **settings)
        (account,) = done.json["accounts"]
        text = skillhub("why", name, **settings).out
        places = [(cause["path"], cause["line"]) for cause in account["causes"]]
        for path, line in places:
            assert not line or f"  {path}:{line}: " in text
        return account["verdict"], places, text

    own_rules(deny=[{"tool": "run_skill_command"}, {"tool": "load_skill", "skill_name": "pdf"}])
    chosen.write_text(choices, encoding="utf-8")
    both = reported("pdf")
    assert both[:2] == ("switched off", [(str(chosen), None), (str(ruled), None)])
    chosen.unlink()
    assert reported("pdf")[:2] == ("denied by a rule", [(str(ruled), None)])
    ruled.unlink()
    chosen.write_text(choices, encoding="utf-8")
    off = reported("pdf")
    assert off[:2] == ("switched off", [(str(chosen), None)])
    assert "skillhub enable pdf" in off[2]
    chosen.unlink()
    filtered = reported("pdf", SKILLHUB_ENABLED_SKILLS="people")
    assert (filtered[0], "SKILLHUB_ENABLED_SKILLS does not name it" in filtered[2]) == ("filtered", True)
    by_category = reported("pdf", SKILLHUB_ENABLED_CATEGORIES="docs")
    assert "SKILLHUB_ENABLED_CATEGORIES does not name its category" in by_category[2]
    refused = reported("silent")
    assert refused[:2] == ("refused", [(f"{silent}/SKILL.md", 3)])
    assert "there is no description (description-missing)" in refused[2]
    assert reported("people")[:2] == ("for people only", [(f"{people}/SKILL.md", None)])


def test_required_consent_is_explained(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("pdf")
    own_rules(allow=[{"tool": "load_skill", "skill_name": "csv"}])
    done = skillhub("why", "pdf")
    assert done.out.startswith("pdf is served")
    assert "an agent has to ask its user first; skillhub allow pdf" in done.out


def test_unknown_names_and_paths_are_explained(
    skillhub: Skillhub, write_skill: SkillWriter, skills_dir: Path, tmp_path: Path
) -> None:
    pdf = write_skill("pdf-reader")
    write_skill("pdf-silent", frontmatter="name: pdf-silent")
    missing = tmp_path / "missing"
    done = skillhub("why", "pdf-raeder", SKILLS_DIR=f"{skills_dir}:{missing}")
    assert done.code == 1
    assert f"no skill is named 'pdf-raeder' below {skills_dir}, {missing}" in done.out
    assert f"  {missing}: does not exist; create it" in done.out
    assert "  like it: pdf-reader (served)" in done.out
    assert "pdf-silent (refused)" in skillhub("why", "pdf-silnet").out
    assert skillhub("why", "pdf-silent@hub").out.startswith("pdf-silent is refused")

    outside = write_skill("outside", root=tmp_path / "elsewhere")
    inside = write_skill("inside", root=pdf)
    hidden = write_skill("hidden", root=skills_dir / "group" / ".hidden")
    (tmp_path / "bare").mkdir()
    for path, why in (
        (outside, "is not below a searched directory"),
        (inside, "is inside another skill"),
        (hidden, "is not searched: hidden directory"),
        (tmp_path / "bare", "has no SKILL.md"),
        (tmp_path / "gone", "is not there"),
    ):
        done = skillhub("why", str(path))
        assert (done.code, why in done.out) == (1, True), (path, done.out)


def test_a_lower_rank_is_explained(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("pdf-invoice", "Extracts the invoice number from PDF files.")
    write_skill("pdf-merge", "Merges many PDF documents.", body="Not for an invoice.\n")
    write_skill("kettle", "Boils water.")
    task = "read the invoice of a pdf"
    found = skillhub("search", task, "--json").json["skills"]
    done = skillhub("why", task, "pdf-merge")
    reported = skillhub("why", task, "pdf-merge", "--json").json["search"]
    assert done.code == 0
    assert reported["rank"] == [hit["name"] for hit in found].index("pdf-merge") + 1 == 2
    assert reported["score"] == found[1]["score"]
    assert reported["first"] == {"name": "pdf-invoice", "score": found[0]["score"]}
    assert done.out.startswith(f"pdf-merge is number 2 of {reported['hits']} hits for '{task}', ")
    assert (
        "  'invoice': the first has it in its name and description, this one in its body\n"
        "  of the task it has: pdf, invoice\n"
    ) in done.out
    first = skillhub("why", task, "pdf-invoice")
    assert first.out.startswith(f"pdf-invoice is the first of {reported['hits']} hits for '{task}', ")
    none = skillhub("why", task, "kettle")
    assert "kettle is not among the 2 hits" in none.out
    assert "it has no word of the task, and is not near it in meaning" in none.out
    assert "'invoice': the first has it in its name and description, this one nowhere" in none.out
    named = skillhub("why", "kettle", "pdf-merge")
    assert "its name is the task, and such a skill comes first" in named.out


def test_a_hidden_hit_says_whether_tail_limit_or_copy_hid_it(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    for number in range(8):
        write_skill(f"invoice-{number}", f"Invoice invoice reader of kind {'abcdefgh'[number] * 5}.")
    write_skill("pdf-one", "Boils water for a very large number of guests.", body="An invoice.\n")
    write_skill("pdf-two", "Sends an invoice by pigeon across every border.")
    write_skill("pdf-two-again", "Sends an invoice by pigeon across every border.")
    tail = skillhub("why", "invoice reader", "pdf-one", "--json").json["search"]
    assert "too far below" in tail["left_out"]
    assert "near miss" not in skillhub("why", "invoice reader", tail["first"]["name"]).out
    limit = skillhub("why", "invoice reader", "pdf-two", "--json", SEARCH_LIMIT="2", SEARCH_THRESHOLD="0").json[
        "search"
    ]
    assert "more hits than are shown" in limit["left_out"]
    two, again = (skillhub("why", "pigeon", name, "--json").json["search"] for name in ("pdf-two", "pdf-two-again"))
    assert sorted([two["left_out"] or "", again["left_out"] or ""])[1].startswith("it says nearly the same")


def test_a_skill_that_is_not_served_has_no_rank(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("pdf", extra="disable-model-invocation: true")
    done = skillhub("why", "read pdf", "pdf")
    assert (done.code, done.out.splitlines()[0]) == (0, "A search does not find it, as it is not served to models:")
    assert "pdf is for people only" in done.out
    blank = skillhub("why", "?!", "kettle")
    assert blank.code == 1
