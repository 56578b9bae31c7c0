"""Choosing rules: whole ids and their first words, selected before ignored, and none that does not exist."""

from __future__ import annotations

import pytest

from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.skills.rules import RULES, Diagnostic, Severity
from skillhub_mcp.validation.checker import ValidationResult
from skillhub_mcp.validation.selection import chosen_rules, only


def test_all_rules_are_selected_by_default() -> None:
    assert chosen_rules([], []) == RULES.keys()


@pytest.mark.parametrize(
    ("select", "ignore", "chosen"),
    [
        (["key-unknown"], [], {"key-unknown"}),
        (["key-unknown,name-form", "key-type"], [], {"key-unknown", "name-form", "key-type"}),
        (["key"], [], {"key-unknown", "key-type", "key-misspelt", "key-extension"}),
        (["key"], ["key-extension", "key-type"], {"key-unknown", "key-misspelt"}),
        (["key-type"], ["key"], set()),
    ],
)
def test_rules_are_selected_by_id_or_prefix(select: list[str], ignore: list[str], chosen: set[str]) -> None:
    assert chosen_rules(select, ignore) == chosen


def test_ignored_rules_are_left_out() -> None:
    assert chosen_rules([], ["body"]) == RULES.keys() - {"body-lines", "body-tokens"}


@pytest.mark.parametrize("option", ["--select", "--ignore"])
@pytest.mark.parametrize(
    ("written", "hint"), [("key-unknwon", "'key-unknown'"), ("", "--list-rules"), ("ke", "--list-rules")]
)
def test_an_unknown_rule_is_refused_with_the_nearest(option: str, written: str, hint: str) -> None:
    select, ignore = ([written], []) if option == "--select" else ([], [written])
    with pytest.raises(InvalidArgument) as refused:
        chosen_rules(select, ignore)
    assert option in refused.value.message
    assert hint in (refused.value.hint or "")


def test_only_findings_of_selected_rules_are_kept() -> None:
    both = tuple(Diagnostic(rule, Severity.ERROR, "m", "f") for rule in ("key-type", "name-form"))
    assert only(ValidationResult("x", "one", both), {"name-form"}) == ValidationResult("x", "one", both[1:])
    assert only(ValidationResult("x", "one", both), ()).valid
