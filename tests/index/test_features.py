"""The stored features of a skill."""

from __future__ import annotations

import numpy as np
import pytest
from tests.search.builders import make_skill

from skillhub_mcp.index.features import (
    SkillFeatures,
    hash_term,
    short_words,
    skill_features,
    stored_terms,
    unpack_counts,
)
from skillhub_mcp.index.lance import IndexDamaged
from skillhub_mcp.index.table import row_block
from skillhub_mcp.skills.model import Skill

SKILL = make_skill("pdf-invoice", "Extract invoices from a PDF.", category="finance", tags=("billing", "pdf"))
NO_VECTORS = np.zeros((1, 0), np.float32)


def features(skill: Skill, body: str) -> SkillFeatures:
    return skill_features(skill, body, {})


def counts(found: SkillFeatures, term: str) -> list[int]:
    """The count of a term in each field."""
    block = row_block(np.zeros(1), ["hub/x"], [found.encoded], NO_VECTORS)
    _, _, packed = block.find(np.zeros(1, np.int64), np.array([hash_term(term)]))
    counted: list[int] = unpack_counts(packed)[:, 0].tolist()
    return counted


def test_a_term_is_counted_in_each_field() -> None:
    found = features(SKILL, "pdf pdf body")
    assert list(found.own.lengths) == [2, 3, 2, 1, 3]
    assert counts(found, "pdf") == [1, 1, 1, 0, 2]
    assert counts(found, "financ") == [0, 0, 0, 1, 0]
    assert found.text.split(" ").count("pdf") == 5
    assert {"n:pdf", "d:pdf", "t:pdf", "c:financ"} <= set(found.text.split(" "))


def test_a_count_saturates_at_its_maximum() -> None:
    skill = make_skill("x", "word " * 1_000)
    assert counts(features(skill, "word " * 20_000), "word") == [0, 127, 0, 0, 4_095]


def test_statistics_of_a_skill_and_its_row_are_equal() -> None:
    skill = make_skill("請求書", "C# and C++ for a Tabelle: 請求", tags=("über", "x"))
    found = features(skill, "camelCase body, body")
    stored = stored_terms(found.encoded, found.text, (skill.name, skill.description, *skill.tags))
    assert (set(stored.terms), list(stored.lengths)) == (set(found.own.terms), list(found.own.lengths))
    assert stored.words == found.own.words


@pytest.mark.parametrize("kept", [0, 4, 20, 28, -4])
def test_truncated_features_are_refused(kept: int) -> None:
    encoded = features(SKILL, "body").encoded[:kept]
    with pytest.raises(IndexDamaged):
        row_block(np.zeros(1), ["hub/x"], [encoded], NO_VECTORS)
    if kept in (0, 4, 20):
        with pytest.raises(IndexDamaged):
            stored_terms(encoded, "", ())


def test_words_are_kept_as_written_for_query_correction() -> None:
    assert short_words(["Automatically sorts a PDF", "請求"]) == {"automatically", "sorts", "pdf", "請求"}
    assert short_words(["Café—au-PDF", "請"]) == {"cafe", "pdf", "請"}
