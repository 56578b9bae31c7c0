"""Misspelt words, mended by known ones."""

from __future__ import annotations

import pytest

from skillhub_mcp.analysis.spelling import Speller

SPELLER = Speller(
    {"kubernetes": 3, "invoice": 9, "voice": 2, "invoices": 4, "full": 5, "text": 6, "form": 2, "from": 9}
)


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("kuberntes", ["kubernetes"]),
        ("kubernetse", ["kubernetes"]),
        ("invocie", ["invoice"]),
        ("invoicez", ["invoice", "invoices"]),
        ("fomr", ["form"]),
        ("qqqqqqq", []),
        ("ivoice", ["invoice"]),
        ("xform", []),
        ("fo", []),
        ("12345", []),
        ("", []),
    ],
)
def test_the_nearest_known_words_are_sorted_by_frequency(word: str, near: list[str]) -> None:
    assert SPELLER.near(word) == near


def test_an_empty_vocabulary_corrects_nothing() -> None:
    assert Speller({}).near("invoice") == []
