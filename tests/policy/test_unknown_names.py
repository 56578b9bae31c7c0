"""Unknown names in rules and filters, with suggestions."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import SkillWriter

from skillhub_mcp.policy.rules import PermissionRule, Rules
from skillhub_mcp.policy.unknown_names import KnownNames, filter_problems, rules_problems
from skillhub_mcp.policy.visibility import Visibility
from skillhub_mcp.skills.registry import Registry


@pytest.fixture
def known(write_skill: SkillWriter, skills_dir: Path) -> KnownNames:
    write_skill("PDF Tools", directory="pdf-tools", category="Data Work")
    write_skill("csv-reader")
    return KnownNames(Registry([str(skills_dir)]).snapshot.everything)


def test_unknown_names_have_a_suggestion_in_any_case(known: KnownNames) -> None:
    csv = "'csv-raeder' (did you mean 'csv-reader'?)"
    assert known.unknown_skills(["pdf-tools", "pdf  TOOLS", "CSV-Reader", "csv-raeder", "walrus"]) == [csv, "'walrus'"]
    assert known.unknown_categories(["data work"]) == []
    assert known.unknown_categories({"date work", "x"}) == ["'date work' (did you mean 'data work'?)", "'x'"]


def test_a_problem_names_the_setting_and_the_consequence(known: KnownNames) -> None:
    fix = "correct it, or add what is missing"

    def reported(visibility: Visibility) -> list[str]:
        return [problem.sentence() for problem in filter_problems(known, visibility, "X")]

    assert reported(Visibility()) == []
    assert reported(Visibility(frozenset({"csv-reader"}), frozenset({"nothing"}))) == []
    assert reported(Visibility(frozenset({"csv-reader", "walrus"}))) == [
        f"X names skills that are not here: 'walrus'; {fix}"
    ]
    assert reported(Visibility(categories=frozenset({"walrus"}))) == [
        f"X names categories that are not here: 'walrus'; nothing is served until then: {fix}"
    ]
    many = Visibility(frozenset(f"walrus-{number:02}" for number in range(14)))
    (long,) = reported(many)
    assert "'walrus-11' and 2 more; " in long
    (problem,) = filter_problems(known, many, "the token 'two'", of_token=True)
    assert problem.sentence().startswith("the token 'two' grants skills that are not here: 'walrus-00'")
    known_name = Rules(allow=(PermissionRule("skill_load", "csv-reader"),))
    assert rules_problems(known, "/r.json", known_name, changeable=True) == ()
    misspelt = Rules(deny=(PermissionRule("skill_load", "csv-raeder"),))
    fixes = [one.fix for own in (True, False) for one in rules_problems(known, "/r.json", misspelt, changeable=own)]
    assert fixes == ["correct them, or `skillhub allow --forget NAME`", "correct them there, or remove them"]
    (problem,) = rules_problems(known, "/r.json", misspelt, changeable=True)
    assert (problem.subject, problem.message) == (
        "/r.json",
        "has rules for skills that are not here: 'csv-raeder' (did you mean 'csv-reader'?)",
    )


def test_globs_and_groups_without_a_skill_are_not_reported() -> None:
    known = KnownNames(())
    assert known.unknown_skills(["internal-*", "source:project", "tag:x"]) == []
    assert known.unknown_skills({"Internal-*", "category:x"}) == []
    assert known.unknown_skills(["internal-notes"]) == ["'internal-notes'"]
