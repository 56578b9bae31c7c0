"""The nearness scale: the meaning of a model's cosines, estimated from the vectors of a library."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from skillhub_mcp.index.search_index import FEWEST_SKILLS, NearnessScale, nearness_scale

SUBJECTS = 30


def library(skills: int, *, squeezed: float = 0.0, seed: int = 0) -> NDArray[np.float32]:
    """Return unit vectors of skills on 30 subjects; `squeezed` is the share of one common direction."""
    random = np.random.default_rng(seed)
    subjects = random.standard_normal((SUBJECTS, 64))
    vectors = subjects[np.arange(skills) % SUBJECTS] + 0.5 * random.standard_normal((skills, 64))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    common = np.ones(64) / 8.0
    vectors = (1.0 - squeezed) * vectors + squeezed * common
    units: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return units


def scale_of(vectors: NDArray[np.float32]) -> NearnessScale:
    scale = nearness_scale(vectors)
    assert scale is not None
    return scale


def test_pairs_of_one_subject_are_near_and_of_two_far() -> None:
    vectors = library(300)
    shares = scale_of(vectors).share(vectors[1:61] @ vectors[0])
    same = shares[SUBJECTS - 1 :: SUBJECTS]
    assert same.min() > 0.4
    assert np.delete(shares, [SUBJECTS - 1, 2 * SUBJECTS - 1]).max() < 0.4


def test_a_model_with_high_cosines_gives_the_same_shares() -> None:
    free, squeezed = library(300), library(300, squeezed=0.6)
    plain, high = scale_of(free), scale_of(squeezed)
    assert high.far > plain.far + 0.4
    of_plain, of_high = plain.share(free[1:] @ free[0]), high.share(squeezed[1:] @ squeezed[0])
    assert np.abs(of_plain - of_high).mean() < 0.1


def test_the_number_of_skills_hardly_changes_the_scale() -> None:
    few, many = scale_of(library(100)), scale_of(library(2_000))
    assert few.far == pytest.approx(many.far, abs=0.05)
    assert few.near == pytest.approx(many.near, abs=0.05)


def test_duplicated_skills_hardly_change_the_scale() -> None:
    once = library(150)
    twice = np.concatenate([once, once])
    assert scale_of(twice).near == pytest.approx(scale_of(once).near, abs=0.1)


def test_too_few_skills_have_no_scale() -> None:
    assert nearness_scale(library(FEWEST_SKILLS - 1)) is None
    assert nearness_scale(library(FEWEST_SKILLS)) is not None


def test_shares_stay_between_0_and_1_even_for_identical_skills() -> None:
    same = np.tile(library(1), (20, 1))
    cosines = np.array([-1.0, 0.0, 0.999, 1.0, np.nan], dtype=np.float32)
    for scale in (scale_of(same), NearnessScale(0.2, 0.5)):
        shares = scale.share(cosines)
        assert shares.dtype == np.float32
        assert shares.min() >= 0.0
        assert shares.max() <= 1.0
        assert shares[-1] == 0.0
    known = np.array([0.2, 0.5, 0.8], dtype=np.float32)
    assert NearnessScale(0.2, 0.5).share(known).tolist() == pytest.approx([0.0, 0.5, 1.0])


def test_unusually_distant_pairs_have_a_bounded_negative_share() -> None:
    cosines = np.array([-1.0, 0.14, 0.5, np.nan], dtype=np.float32)
    assert NearnessScale(0.2, 0.5).share(cosines, least=-0.25).tolist() == pytest.approx([-0.25, -0.1, 0.5, 0.0])
