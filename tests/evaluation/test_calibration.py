"""Calibration of scores, and rejection by a threshold."""

from __future__ import annotations

import pytest

from skillhub_mcp.evaluation.measures import Bin, calibration_error, refused_where_kept, reliability


def test_calibrated_scores_have_no_error() -> None:
    scored = [(0.25, True), (0.25, False), (0.25, False), (0.25, False), (1.0, True)]
    assert calibration_error(scored) == 0.0
    assert reliability(scored) == [Bin(4, 0.25, 0.25), Bin(1, 1.0, 1.0)]


def test_bins_are_weighted_by_questions() -> None:
    assert calibration_error([(0.9, True), (0.9, False), (0.1, False), (0.1, False)]) == pytest.approx(0.25)
    assert calibration_error([]) is None


def test_a_threshold_refuses_lower_scores() -> None:
    answerable = [number / 100 for number in range(1, 101)]
    assert refused_where_kept(answerable, [0.01, 0.05, 0.06, 0.9]) == 0.5
    assert refused_where_kept(answerable, [0.01, 0.05, 0.06, 0.9], kept=0.5) == 0.75
    assert refused_where_kept([], [0.1]) is None
    assert refused_where_kept([0.1], []) is None
