"""What an occurrence is worth: more of them more, in a shorter text more, in the name most, and never past the most."""

from __future__ import annotations

import numpy as np
import pytest

from skillhub_mcp.index.features import FIELDS
from skillhub_mcp.search.impacts import LARGEST_IMPACT, impact

MEAN = [2.0, 20.0, 3.0, 1.0, 200.0]


def worth(
    times: int, field: str = "body", *, length: float = 200.0, fields: frozenset[str] = frozenset(FIELDS)
) -> float:
    counts = np.array([[times if name == field else 0] for name in FIELDS])
    lengths = np.array([[length if name == field else mean for name, mean in zip(FIELDS, MEAN, strict=True)]])
    return float(impact(counts, lengths, MEAN, fields=fields)[0])


def test_impact_grows_with_occurrences_up_to_a_maximum() -> None:
    worths = [worth(times) for times in (0, 1, 2, 50, 4_000)]
    assert worths == sorted(set(worths))
    assert worths[0] == 0.0
    assert worths[-1] < LARGEST_IMPACT


def test_impact_in_a_text_of_mean_length_follows_the_formula() -> None:
    assert worth(1) == pytest.approx(9.0 * (1.0 / (8.0 + 1.0)) ** 0.8)
    assert worth(1, "name", length=2.0) == pytest.approx(9.0 * (8.0 / (8.0 + 8.0)) ** 0.8)


def test_impact_is_higher_in_a_shorter_text() -> None:
    assert worth(1, length=20) > worth(1) > worth(1, length=2_000)


def test_an_excluded_field_has_no_impact() -> None:
    assert worth(3, fields=frozenset({"name"})) == 0.0
