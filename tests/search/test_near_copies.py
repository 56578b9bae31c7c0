"""Which hits say nearly the same to a searcher, and which of them is shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import SkillWriter
from tests.hubs import hub_of

from skillhub_mcp.search.near_copies import Candidate, near_copies
from skillhub_mcp.search.rank_explanation import LeftOut

REPORTS = "Extract tables, figures and footnotes from scanned annual reports of public companies."
MINUTES = "会議の音声から議事録を作成し、決定事項と担当者を一覧にまとめる。"
LAMBDA = "Create and deploy AWS Lambda functions in Python with layers, environment variables and tests."


def merged(one: tuple[str, str], other: tuple[str, str]) -> bool:
    groups = near_copies([Candidate(*one), Candidate(*other)])
    assert groups == near_copies([Candidate(*other), Candidate(*one)])
    return len(groups) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("reports", REPORTS), ("annual-report-tables", REPORTS)),
        (("reports", REPORTS), ("reports-fork", f"{REPORTS[:-1]} quickly.")),
        (("reports", REPORTS), ("reports-fork", REPORTS.replace("Extract", "**Extracts**").replace("of", "for"))),
        # Its words with other punctuation.
        (("reports", REPORTS), ("my-reports", REPORTS.replace(",", ";").replace(" and", " /"))),
        # Namesakes of two sources: of a longer text a word may stand in the place of another.
        (
            ("skill-creator", f"{LAMBDA} {REPORTS} Extends Claude's capabilities."),
            ("Skill Creator", f"{LAMBDA} {REPORTS} Extends Codex's capabilities."),
        ),
        (("議事録", MINUTES), ("minutes", MINUTES.removesuffix("。"))),
    ],
)  # fmt: skip
def test_copied_renamed_and_edited_skills_are_near_copies(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert merged(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # A word in the place of another, whether the names tell it or not.
        (("lambda-python", LAMBDA), ("lambda-node", LAMBDA.replace("Python", "Node"))),
        (("lambda-one", LAMBDA), ("lambda-two", LAMBDA.replace("Python", "Node"))),
        # The same words, of which another one is the subject: found in the library that search is measured on.
        (
            ("ads-rewarded", "Implement rewarded ads in mobile apps. Set up rewarded ads. Not interstitial."),
            ("ads-interstitial", "Implement interstitial ads in mobile apps. Set up interstitial ads. Not rewarded."),
        ),
        # A word more that its name has, though searches leave it out.
        (
            ("gws-gmail-reply", "Gmail: Reply to a message (handles threading automatically, keeps quotes)."),
            ("gws-gmail-reply-all", "Gmail: Reply-all to a message (handles threading automatically, keeps quotes)."),
        ),
        (("nuxt", f"{LAMBDA} {REPORTS} For Nuxt 4."), ("nuxt", f"{LAMBDA} {REPORTS} For Nuxt 5.")),
        # Too short to say that it is one skill.
        (("one", "Reads PDF files."), ("two", "Reads PDF files.")),
        (("one", ""), ("one", "")),
        (("reports", REPORTS), ("reports", LAMBDA)),
    ],
)  # fmt: skip
def test_templates_and_versions_are_not_near_copies(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert not merged(one, other)


def test_the_copy_of_the_strongest_source_takes_the_best_place() -> None:
    hits = [
        Candidate("reports", REPORTS, 2),
        Candidate("lambda", LAMBDA, 1),
        Candidate("reports-too", REPORTS, 1),
        Candidate("reports-own", REPORTS, 0),
        Candidate("reports-more", REPORTS, 1),
    ]
    assert near_copies(hits) == [[3, 2, 4, 0], [1]]


@given(
    st.lists(
        st.builds(Candidate, st.sampled_from("abc"), st.sampled_from([REPORTS, LAMBDA, "", "Short.", "x" * 9_000]),
                  st.integers(-1, 3)),
        max_size=30,
    )
)  # fmt: skip
def test_each_hit_is_in_one_group_and_groups_keep_their_order(hits: list[Candidate]) -> None:
    groups = near_copies(hits)
    assert sorted(number for group in groups for number in group) == list(range(len(hits)))
    assert [min(group) for group in groups] == sorted(min(group) for group in groups)
    for first, *others in groups:
        assert all(hits[first].rank <= hits[other].rank for other in others)


# In a search


def test_the_stronger_source_is_shown_unless_the_query_names_a_copy(
    hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("scanned-reports", REPORTS, body="Annual. " * 40)
    write_skill("reports", REPORTS.replace("Extract", "Extracts"), root=tmp_path / "weak")
    write_skill("painter", "Paints walls.")
    roots = [hub_environment["SKILLS_DIR"], str(tmp_path / "weak")]
    handles = ["scanned-reports", "reports"]
    for _ in range(2):
        with hub_of({**hub_environment, "SKILLS_DIR": os.pathsep.join(roots)}) as hub:
            task = "tables of annual reports"
            (hit,) = hub.search(task).hits
            assert [hit.handle, *hit.copies] == handles
            assert hub.engine.standing(task, hub.find(handles[1]).directory).left_out is LeftOut.COPY
            for name in handles:
                (hit,) = hub.search(name).hits
                assert hit.handle == name
        roots.reverse()
        handles.reverse()


def test_an_untrusted_copy_never_replaces_a_trusted_skill(
    hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path
) -> None:
    repo = tmp_path.resolve() / "repo"
    (repo / ".git").mkdir(parents=True)
    write_skill("tables-of-reports", REPORTS, root=repo / ".agents" / "skills", tags="tables, annual, reports")
    write_skill("scanned", REPORTS, root=Path(os.environ["HOME"], ".agents", "skills"))
    places = {"SKILLHUB_ROOTS": "project,user", "SKILLHUB_CWD": str(repo), "SKILLHUB_TRUST": "limited"}
    with hub_of({key: one for key, one in hub_environment.items() if key != "SKILLS_DIR"} | places) as hub:
        (hit,) = hub.search("tables of annual reports of companies").hits
        assert (hit.handle, hit.copies) == ("scanned", ("tables-of-reports",))


def test_equal_scores_are_ordered_independently_of_paths(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    found = []
    for places in ("abc", "cab"):
        for number, place in enumerate(places):
            write_skill(
                f"walrus-{number}", f"Feeds the walrus number {number}.", directory=f"{''.join(places)}/{place}"
            )
        with hub_of(hub_environment) as hub:
            found.append([hit.handle for hit in hub.search("walrus").hits])
    assert found == [["walrus-0", "walrus-1", "walrus-2"]] * 2


def test_a_lower_limit_returns_a_prefix_of_the_hits(hub_environment: dict[str, str], write_skill: SkillWriter) -> None:
    """More copies, and more skills of one score, than are compared at once."""
    for number in range(25):
        write_skill(f"copy-{number:02}", f"{REPORTS} Walrus.", directory=f"z/{99 - number}")
        write_skill(
            f"tie-{number:02}", f"Feeds the {'walrus ' * (1 + number // 20)}number {number}.", directory=f"{number}"
        )
    with hub_of({**hub_environment, "SEARCH_THRESHOLD": "0"}) as hub:
        for query in ("walrus", "annual reports with a walrus"):
            many = [hit.handle for hit in hub.search(query, limit=100).hits]
            assert len(many) >= 26
            for limit in (1, 5, 21, 22, 30):
                assert [hit.handle for hit in hub.search(query, limit=limit).hits] == many[:limit]
