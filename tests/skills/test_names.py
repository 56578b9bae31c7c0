"""Names are compared by one rule."""

import pytest

from skillhub_mcp.skills.names import fold_name


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
