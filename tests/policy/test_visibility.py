"""The filter of skills by name and category."""

from __future__ import annotations

import pytest
from tests.disclosure.library import skill

from skillhub_mcp.policy.visibility import Visibility

PDF = skill("pdf", category="documents")
PLAIN = skill("plain")


@pytest.mark.acceptance("S2-70", "S2-71", "S2-72")
@pytest.mark.parametrize(
    ("names", "categories", "pdf", "plain"),
    [
        ((), (), True, True),
        (("pdf",), (), True, False),
        (("plain",), ("documents",), False, True),
        ((), ("documents",), True, False),
        ((), ("other", "documents"), True, False),
        ((), ("other",), False, False),
        (("nobody",), (), False, False),
        (("p*",), (), True, True),
        (("PD?", "x"), (), True, False),
        (("category:Documents",), (), True, False),
        (("source:hub",), (), True, True),
        (("tag:documents",), (), False, False),
    ],
)
def test_names_take_precedence_over_categories(
    names: tuple[str, ...], categories: tuple[str, ...], pdf: bool, plain: bool
) -> None:
    visibility = Visibility(frozenset(names) or None, frozenset(categories) or None)
    assert (visibility.allows(PDF), visibility.allows(PLAIN)) == (pdf, plain)
    assert visibility.limits == bool(names or categories)


def test_names_and_categories_are_folded() -> None:
    map_skill = skill("Straße Map", category="documents")
    assert Visibility(frozenset({"STRASSE  map"})).allows(map_skill)
    assert Visibility(frozenset({"straße-map"})).allows(map_skill)
    assert Visibility(None, frozenset({"Ｄocuments"})).allows(map_skill)
    assert not Visibility(frozenset({"strasse"})).allows(map_skill)


def test_a_blank_name_or_category_allows_no_skill() -> None:
    nameless = skill("!!!", category="")
    assert nameless.alias == ""
    assert not Visibility(frozenset({" "})).allows(nameless)
    assert not Visibility(None, frozenset({" "})).allows(nameless)


def test_a_filter_names_its_setting() -> None:
    assert Visibility(frozenset({"pdf"}), frozenset({"x"})).setting == "SKILLHUB_ENABLED_SKILLS"
    assert Visibility(None, frozenset({"x"})).setting == "SKILLHUB_ENABLED_CATEGORIES"
