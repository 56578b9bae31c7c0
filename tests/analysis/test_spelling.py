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
def test_the_nearest_known_words_are_found_the_commonest_first(word: str, near: list[str]) -> None:
    assert SPELLER.near(word) == near


@pytest.mark.parametrize("worked_out", [True, False])
def test_a_speller_of_changed_words_knows_those_and_no_others(worked_out: bool) -> None:
    speller = Speller({"kubernetes": 3, "invoice": 9, "整理文件": 1, "表格": 2})
    if worked_out:
        assert speller.near("kuberntes")
        assert speller.describes("文件")
    words = {"kubernetes": 4, "invoices": 4, "表格": 2, "发票": 1, "walrus": 1}
    changed = speller.changed(words, ["kubernetes", "invoice", "invoices", "整理文件", "发票", "walrus", "nowhere"])
    anew = Speller(words)
    for word in ("kuberntes", "invoise", "invoicez", "walruss", "nowhere"):
        assert changed.near(word) == anew.near(word)
    for text in ("文件", "表格", "发票"):
        assert changed.describes(text) == anew.describes(text)
    assert changed.knows("walrus")
    assert not changed.knows("invoice")
    # The one before is as it was.
    assert speller.near("invoicee") == ["invoice"]


def test_no_known_words_mend_nothing() -> None:
    assert Speller({}).near("invoice") == []
