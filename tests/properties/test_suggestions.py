"""The names that are compared letter by letter are those that share most letter pairs with what was asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.skills import suggestions
from skillhub_mcp.skills.names import fold_name
from skillhub_mcp.skills.suggestions import near_names

_TEXTS = st.text(alphabet="aAbBß -é\u212a", max_size=8)


def pairs(text: str) -> set[str]:
    folded = f" {fold_name(text)} "
    return {folded[at : at + 2] for at in range(len(folded) - 1)}


@given(wanted=_TEXTS, names=st.lists(_TEXTS, max_size=30), compared=st.integers(1, 5))
def test_only_the_best_by_letter_pairs_are_near(wanted: str, names: list[str], compared: int) -> None:
    best = sorted(names, key=lambda name: (len(pairs(wanted) & pairs(name)), name), reverse=True)[:compared]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suggestions, "_COMPARED", compared)
        assert near_names(wanted, names) == near_names(wanted, best)
