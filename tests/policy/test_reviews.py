"""Accepted findings of the audit, each for one digest."""

from __future__ import annotations

import pytest

from skillhub_mcp._util.safe_json import BadJson
from skillhub_mcp.policy.reviews import NO_REVIEWS, REVIEWS_FORMAT, Review

A, B = "sha256:a", "sha256:b"


def test_reviews_of_one_digest_are_merged() -> None:
    reviews = NO_REVIEWS.with_review(A, Review(frozenset({"secrecy"}))).with_review(A, Review(frozenset({"hooks"})))
    assert reviews.accepted(A) == {"secrecy", "hooks"}
    assert reviews.accepted(B) == frozenset()


def test_reviews_are_removed_by_digest_or_path() -> None:
    reviews = NO_REVIEWS.with_review(A, Review(frozenset({"x"}), path="/a")).with_review(B, Review(frozenset({"x"})))
    assert set(reviews.without([B]).by_digest) == {A}
    assert set(reviews.without([], ["/a"]).by_digest) == {B}


def test_reasons_belong_to_rules_and_survive_a_review_without_one() -> None:
    reviews = NO_REVIEWS.with_review(A, Review(frozenset({"x"}), reasons={"x": "first"}))
    reviews = reviews.with_review(A, Review(frozenset({"y"}), reasons={"y": "second"}))
    assert reviews.with_review(A, Review(frozenset({"x", "y"}))).reasons(A) == {"x": "first", "y": "second"}
    assert reviews.with_review(A, Review(frozenset({"x"}), reasons={"x": "third"})).reasons(A)["x"] == "third"
    assert reviews.reasons(B) == {}


def test_removing_some_rules_keeps_the_others_with_their_reasons() -> None:
    both = Review(frozenset({"x", "y"}), path="/a", reasons={"x": "first", "y": "second"})
    reviews = NO_REVIEWS.with_review(A, both)
    for left in (reviews.without([A], (), ["x"]), reviews.without([B], ["/a"], ["x", "z"])):
        assert (set(left.accepted(A)), dict(left.reasons(A))) == ({"y"}, {"y": "second"})
    assert reviews.without([A], (), ["x", "y"]) == NO_REVIEWS


@pytest.mark.parametrize("reasons", [{"x": "because", "y": "because"}, {"x": "first", "y": "second"}, {"y": "one"}, {}])
def test_written_reviews_are_read_back(reasons: dict[str, str]) -> None:
    reviews = NO_REVIEWS.with_review(A, Review(frozenset({"x", "y"}), "one", "/one", "2026-11-22", reasons))
    assert REVIEWS_FORMAT.parse(REVIEWS_FORMAT.text(reviews)) == reviews


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"format": 2, "reviews": {}}', '{"format": 1, "reviews": []}', '{"format": 1, "reviews": {"x": {}}}',
     '{"format": 1, "reviews": {"sha256:a": {"rules": "x"}}}',
     '{"format": 1, "reviews": {"sha256:a": {"rules": [1]}}}',
     '{"format": 1, "reviews": {"sha256:a": {"rules": ["x"], "reasons": "because"}}}',
     '{"format": 1, "reviews": {"sha256:a": {"rules": ["x"], "reasons": {"x": 1}}}}'],
)  # fmt: skip
def test_invalid_reviews_are_rejected(text: str) -> None:
    with pytest.raises(BadJson):
        REVIEWS_FORMAT.parse(text)
