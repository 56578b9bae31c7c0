"""The lists of words that come with the program."""

from __future__ import annotations

from importlib.resources import files

import pytest

from skillhub_mcp.analysis.analyzer import terms
from skillhub_mcp.analysis.lexicon import languages, stop_words, translations


def lines(name: str) -> list[str]:
    text = (files("skillhub_mcp.analysis") / "words" / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_every_translation_has_words_on_both_sides() -> None:
    for line in lines("translations.txt"):
        english, others = line.split(" = ")
        assert all(terms(word) for word in english.split(",")), line
        assert all(word.strip() for word in others.split(",")), line
    assert len(lines("translations.txt")) > 200


@pytest.mark.parametrize(
    ("word", "meaning"),
    [("rechnungen", "invoice"), ("facturas", "invoice"), ("ordner", "folder"), ("traduire", "translate")],
)
def test_a_word_and_its_inflections_have_a_meaning(word: str, meaning: str) -> None:
    assert meaning in [meanings[0] for meanings in translations().of_word(word)]


def test_a_longer_word_with_the_same_beginning_has_no_meaning() -> None:
    assert translations().of_word("ordnerinhaltsverzeichnis") == []


def test_a_compound_has_the_meanings_of_its_parts() -> None:
    assert "report" in [meanings[0] for meanings in translations().inside("jahresbericht", shortest=5)]


def test_the_longest_listed_run_is_taken_first() -> None:
    found = [(part, bool(meanings)) for part, meanings in translations().parts_of_run("新請求書を整理")]
    assert found == [("新", False), ("請求書", True), ("を", False), ("整理", True)]


def test_the_stop_words_of_each_language_are_folded() -> None:
    assert "the" in stop_words("en")
    assert "fur" in stop_words("de")
    assert set(languages()) == {"de", "es", "fr", "pt", "it", "pl", "nl", "ru"}
