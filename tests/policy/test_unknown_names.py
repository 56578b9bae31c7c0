"""Unknown names in rules and filters, with suggestions."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import SkillWriter

from skillhub_mcp.policy.access_tokens import Tokens, make_token
from skillhub_mcp.policy.rules import PermissionRule, Rules
from skillhub_mcp.policy.unknown_names import (
    KnownNames,
    UnknownName,
    rules_problems,
    server_filter_problems,
    tokens_problems,
)
from skillhub_mcp.policy.visibility import Visibility
from skillhub_mcp.skills.registry import Registry


@pytest.fixture
def known(write_skill: SkillWriter, skills_dir: Path) -> KnownNames:
    write_skill("PDF Tools", directory="pdf-tools", category="Data Work")
    write_skill("csv-reader")
    return KnownNames(Registry([str(skills_dir)]).snapshot.everything)


def test_unknown_names_in_rules_have_a_suggestion(known: KnownNames) -> None:
    named = ["pdf-tools", "csv-reader", "pdf-tool", "walrus"]
    assert known.unknown_skills(named) == (UnknownName("pdf-tool", near="pdf-tools"), UnknownName("walrus"))
    assert str(UnknownName("pdf-tool", near="pdf-tools")) == "'pdf-tool' (did you mean 'pdf-tools'?)"
    assert str(UnknownName("walrus")) == "'walrus'"


def test_names_in_filters_match_in_any_case(known: KnownNames) -> None:
    named = Visibility(frozenset({"pdf  TOOLS", "PDF-tools", "CSV-Reader", "csv-raeder"}), frozenset({"data work"}))
    assert known.unknown_skills(named.names or ()) == (UnknownName("csv-raeder", near="csv-reader"),)
    assert known.unknown_categories(named.categories or ()) == ()
    assert known.unknown_categories({"date work", "x"}) == (
        UnknownName("date work", near="data work"),
        UnknownName("x"),
    )


SETTINGS = ("SKILLS", "CATEGORIES")


def test_a_problem_names_the_setting_and_the_consequence(known: KnownNames) -> None:
    fix = "correct it, or add what is missing"

    def reported(visibility: Visibility) -> list[str]:
        return [problem.sentence() for problem in server_filter_problems(known, visibility, SETTINGS)]

    assert reported(Visibility()) == []
    assert reported(Visibility(frozenset({"csv-reader"}), frozenset({"nothing"}))) == []
    assert reported(Visibility(frozenset({"csv-reader", "walrus"}))) == [
        f"SKILLS names skills that are not here: 'walrus'; {fix}"
    ]
    assert reported(Visibility(categories=frozenset({"walrus"}))) == [
        f"CATEGORIES names categories that are not here: 'walrus'; nothing is served until then: {fix}"
    ]
    many = Visibility(frozenset(f"walrus-{number:02}" for number in range(14)))
    (long,) = reported(many)
    assert "'walrus-11' and 2 more; " in long
    tokens = [make_token(name, visibility)[0] for name, visibility in (("one", Visibility()), ("two", many))]
    (problem,) = tokens_problems(known, "/t.json", Tokens((*tokens,)))
    assert (problem.subject, problem.message.startswith("grants skills that are not here: 'walrus-00'")) == (
        "the token 'two' in /t.json",
        True,
    )
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
    assert known.unknown_skills(["internal-*", "source:project", "tag:x"]) == ()
    assert known.unknown_skills({"Internal-*", "category:x"}) == ()
    assert [one.name for one in known.unknown_skills(["internal-notes"])] == ["internal-notes"]
