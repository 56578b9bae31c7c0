"""The counts of skills as a sentence."""

from __future__ import annotations

from skillhub_mcp.disclosure.listing import SkillCounts


def test_the_sentence_names_only_nonzero_counts() -> None:
    assert SkillCounts(served=113, not_for_models=1).sentence() == "113 served, 1 not for models"
    assert SkillCounts(served=0).sentence() == "0 served"
    every = SkillCounts(served=1_000, not_for_models=2, off=3, denied=4, filtered=5, shadowed=6, refused=7)
    assert every.sentence() == ("1,000 served, 2 not for models; 3 off, 4 denied, 5 filtered, 6 shadowed, 7 refused")
