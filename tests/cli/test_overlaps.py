"""`skillhub overlaps`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter
from tests.hubs import hub_of

from skillhub_mcp.evaluation.overlaps import find_overlaps

REPORTS = "Extract tables, figures and footnotes from scanned annual reports of public companies."


@pytest.fixture
def rivals(write_skill: SkillWriter) -> None:
    """Two skills that say the same in other words, and one that has nothing to do with them."""
    write_skill("pdf-reader", "Reads PDF files and extracts their tables.")
    write_skill("pdf-tables", "Extracts tables from PDF files that it reads.")
    write_skill("painter", "Paints walls in any colour.")


@pytest.fixture
def copies(write_skill: SkillWriter) -> None:
    write_skill("reports", REPORTS, body="Step by step. " * 30)
    write_skill("reports-too", REPORTS, body="Step by step. " * 31)


@pytest.mark.usefixtures("rivals")
def test_two_skills_that_compete_are_found_with_the_words_that_they_share(skillhub: Skillhub) -> None:
    done = skillhub("overlaps")
    assert (done.code, done.err) == (0, "")
    pair, shared = done.out.splitlines()
    share, *names = pair.split()
    assert sorted(names) == ["pdf-reader", "pdf-tables"]
    assert int(share.removesuffix("%")) >= 80
    assert shared.startswith("      by: ")
    assert {"pdf", "tables"} <= {word.strip().lower() for word in shared.removeprefix("      by: ").split(",")}


@pytest.mark.usefixtures("rivals")
def test_json_carries_what_a_script_needs(skillhub: Skillhub) -> None:
    answer = skillhub("overlaps", "--json").json
    (overlap,) = answer["overlaps"]
    assert answer["pairs"] == 1
    assert sorted(overlap) == ["copy", "rival", "share", "shared", "skill"]
    assert sorted((overlap["skill"], overlap["rival"])) == ["pdf-reader", "pdf-tables"]
    assert overlap["share"] >= 0.8
    assert overlap["copy"] is False
    assert {"pdf", "tables"} <= {word.lower() for word in overlap["shared"]}
    assert len(overlap["shared"]) <= 5


@pytest.mark.usefixtures("copies")
def test_skills_that_say_nearly_the_same_are_called_so(skillhub: Skillhub) -> None:
    assert skillhub("overlaps").out == "100%  reports  reports-too  (nearly the same text)\n"
    assert skillhub("overlaps", "--json").json["overlaps"] == [
        {"skill": "reports", "rival": "reports-too", "share": 1.0, "copy": True, "shared": []}
    ]


def test_skills_that_have_nothing_in_common_do_not_compete(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    assert skillhub("overlaps").out == "No overlapping skills found.\n"
    write_skill("painter", "Paints walls.")
    write_skill("plumber", "Mends pipes.")
    assert skillhub("overlaps", "--least", "1").out == "No overlapping skills found.\n"
    assert skillhub("overlaps", "--json").json == {"overlaps": [], "pairs": 0}


def test_the_least_share_decides_which_pairs_there_are(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("pdf-reader", "Reads PDF files and extracts their tables.")
    write_skill("invoices", "Sorts invoices by date, sender and PDF.")
    assert skillhub("overlaps").out == "No overlapping skills found.\n"
    (overlap,) = skillhub("overlaps", "--least", "1", "--json").json["overlaps"]
    assert 0.01 <= overlap["share"] < 0.8
    percent = int(overlap["share"] * 100)
    assert skillhub("overlaps", "--least", str(percent), "--json").json["pairs"] == 1
    assert skillhub("overlaps", "--least", str(percent + 1), "--json").json["pairs"] == 0


@pytest.mark.usefixtures("rivals", "copies")
def test_a_limit_shows_the_closest_and_tells_how_many_there_are(skillhub: Skillhub) -> None:
    everything = skillhub("overlaps", "--json").json
    assert everything["pairs"] == len(everything["overlaps"]) == 2
    shares = [overlap["share"] for overlap in everything["overlaps"]]
    assert shares == sorted(shares, reverse=True)
    limited = skillhub("overlaps", "--limit", "1", "--json").json
    assert limited == {"overlaps": everything["overlaps"][:1], "pairs": 2}
    lines = skillhub("overlaps", "--limit", "1").out.splitlines()
    assert everything["overlaps"][0]["rival"] in lines[0]
    assert lines[-1] == "… and 1 more pairs; --limit shows them"


@pytest.mark.parametrize(("option", "value"), [("--least", "0"), ("--limit", "0"), ("--limit", "-1")])
def test_bounds_below_1_are_misuse(skillhub: Skillhub, option: str, value: str) -> None:
    done = skillhub("overlaps", option, value)
    assert (done.code, done.out, done.err) == (2, "", f"error: {option} must be at least 1\n")
    assert skillhub("overlaps", option, "many").err.startswith(f"error: {option} must be a whole number, not 'many'\n")


@pytest.mark.usefixtures("rivals")
def test_what_is_hidden_or_switched_off_competes_with_nothing(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("pdf-hidden", "Reads PDF files and extracts tables.", extra="disable-model-invocation: true")
    assert skillhub("overlaps", "--json").json["pairs"] == 1
    assert skillhub("disable", "pdf-tables").code == 0
    assert skillhub("overlaps", "--least", "1", "--json").json["pairs"] == 0


@pytest.mark.usefixtures("rivals")
def test_progress_goes_from_nothing_to_all_skills(hub_environment: dict[str, str]) -> None:
    told: list[tuple[str, int, int]] = []
    with hub_of(hub_environment) as hub:
        found = find_overlaps(hub, least=0.8, progress=lambda *step: told.append(step))
    assert told == [("comparing", number, 3) for number in range(4)]
    assert len(found) == 1


@pytest.mark.usefixtures("rivals")
def test_what_is_compared_is_not_noted_as_use(skillhub: Skillhub, tmp_path: Path) -> None:
    log = tmp_path / "use.jsonl"
    assert skillhub("overlaps", SKILLHUB_USAGE_LOG=str(log)).code == 0
    assert not log.exists()


@pytest.mark.parametrize("names", [("first", "second"), ("second", "first")])
def test_a_pair_is_told_once_from_the_side_on_which_it_is_closer(
    hub_environment: dict[str, str], write_skill: SkillWriter, names: tuple[str, str]
) -> None:
    write_skill("painter", "Paints walls in any colour.")
    write_skill(names[0], "Reads PDF files.")
    write_skill(names[1], "Reads PDF files and extracts tables, figures and footnotes.")
    sides = []
    with hub_of(hub_environment) as hub:
        (overlap,) = find_overlaps(hub, least=0.01, progress=lambda *_: None)
        for skill in hub.skills():
            scores = {hit.handle: hit.score for hit in hub.search(skill.description).hits}
            sides += [(score / scores[skill.name], skill.name, rival) for rival, score in scores.items()]
    sides = [side for side in sides if side[1] != side[2]]
    assert len({share for share, _, _ in sides}) == 2
    assert (overlap.share, overlap.skill, overlap.rival) == max(sides)
