"""Names are compared by one rule."""

import pytest

from skillhub_mcp.skills.names import fold_name, is_specified_name, safe_alias, typed_command


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("PDF", "pdf"),
        ("  data   analysis ", "Data Analysis"),
        ("\uff30\uff24\uff26", "pdf"),
        ("STRASSE", "stra\u00dfe"),
        ("e\u0301cole", "\u00c9cole"),
        ("\u041e\u0422\u0427\u0401\u0422", "\u043e\u0442\u0447\u0451\u0442"),
    ],
)
def test_names_that_differ_in_form_only_are_the_same(one: str, other: str) -> None:
    assert fold_name(one) == fold_name(other)


@pytest.mark.parametrize(("one", "other"), [("pdf", "pdf-tools"), ("resume", "r\u00e9sum\u00e9"), ("a b", "ab")])
def test_other_names_stay_apart(one: str, other: str) -> None:
    assert fold_name(one) != fold_name(other)


@pytest.mark.parametrize(
    ("name", "alias"),
    [
        ("pdf", "pdf"),
        ("Chat with PDF", "chat-with-pdf"),
        ("--a__b--", "a-b"),
        ("!!!", ""),
        ("x" * 65, "x" * 64),
        # Cut where a hyphen would be the last.
        ("x" * 63 + " y", "x" * 63),
        ("x" * 62 + " y z", "x" * 62 + "-y"),
    ],
)
def test_a_safe_alias_is_always_a_name_that_the_specification_allows(name: str, alias: str) -> None:
    assert safe_alias(name) == alias
    assert is_specified_name(alias) == bool(alias)


@pytest.mark.parametrize(
    ("names", "option", "typed"),
    [
        (["pdf"], "--project", "skillhub lock pdf --project"),
        (["a b", "it's"], "", "skillhub lock 'a b' 'it'\"'\"'s'"),
        (["-dash"], "", "skillhub lock -- -dash"),
        (["pdf", "--all"], "--project", "skillhub lock --project -- pdf --all"),
        ([], "--project", "skillhub lock --project"),
    ],
)
def test_a_name_in_a_command_is_one_word_and_no_option(names: list[str], option: str, typed: str) -> None:
    assert typed_command("skillhub lock", *names, option=option) == typed
