"""Names, globs and groups in rules and filters."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.search.builders import make_skill

from skillhub_mcp.policy.visibility import Visibility
from skillhub_mcp.skills.selectors import is_rule_selector, selects, terms_of

SKILL = replace(make_skill("pdf-forms", "d", category="office", tags=("pdf", "forms")), source="user")


@pytest.mark.parametrize(
    ("selector", "meant"),
    [
        ("pdf-forms", True),
        ("pdf-*", True),
        ("*", True),
        ("pdf-form?", True),
        ("docx-*", False),
        # A glob of names matches no groups, and a glob of one group matches no other.
        ("off*", False),
        ("category:office", True),
        ("category:off*", True),
        ("category:dev", False),
        ("tag:forms", True),
        ("tag:office", False),
        ("source:user", True),
        ("source:hub", False),
        ("source:*", True),
    ],
)
def test_a_selector_is_a_name_a_glob_or_a_group(selector: str, meant: bool) -> None:
    assert selects(selector, terms_of(SKILL)) is meant


@pytest.mark.parametrize("name", ["category:office", "Category:office", "category：office"])
def test_no_skill_joins_a_group_by_its_name(name: str) -> None:
    named = replace(SKILL, name=name, category=None)
    assert not selects("category:office", terms_of(named))
    assert not Visibility(frozenset({"category:office"})).allows(named)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("pdf-*", True),
        ("tag:pdf", True),
        ("source:user", True),
        ("category:*", True),
        ("pdf", False),
        ("Pdf*", False),
        ("tag:", False),
        ("tag:PDF", False),
        ("pdf *", False),
        ("../*", False),
        ("", False),
    ],
)
def test_a_rule_selects_by_a_glob_or_a_group_in_lower_case(text: str, allowed: bool) -> None:
    assert is_rule_selector(text) is allowed


def test_an_embedder_gets_only_name_description_tags_and_category() -> None:
    assert SKILL.searchable_text == "pdf-forms\nd\npdf forms\noffice"
