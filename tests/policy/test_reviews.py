"""What a person accepted of the audit's findings: bound to a digest, and only from a file of the right form."""

from __future__ import annotations

import pytest

from skillhub_mcp.policy.reviews import NO_REVIEWS, BadReviews, Review, parse_reviews, reviews_text

A, B = "sha256:a", "sha256:b"


def test_reviews_are_of_one_digest_and_add_up() -> None:
    reviews = NO_REVIEWS.with_review(A, Review(frozenset({"secrecy"}))).with_review(A, Review(frozenset({"hooks"})))
    assert reviews.accepted(A) == {"secrecy", "hooks"}
    assert reviews.accepted(B) == frozenset()


def test_reviews_are_forgotten_by_digest_and_by_where_the_skill_was() -> None:
    reviews = NO_REVIEWS.with_review(A, Review(frozenset({"x"}), path="/a")).with_review(B, Review(frozenset({"x"})))
    assert set(reviews.without([B]).by_digest) == {A}
    assert set(reviews.without([], ["/a"]).by_digest) == {B}


def test_what_is_written_is_read_again() -> None:
    reviews = NO_REVIEWS.with_review(A, Review(frozenset({"x", "y"}), "one", "/one", "2026-11-22", "because"))
    assert parse_reviews(reviews_text(reviews)) == reviews


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"format": 2, "reviews": {}}', '{"format": 1, "reviews": []}', '{"format": 1, "reviews": {"x": {}}}',
     '{"format": 1, "reviews": {"sha256:a": {"rules": "x"}}}',
     '{"format": 1, "reviews": {"sha256:a": {"rules": [1]}}}'],
)  # fmt: skip
def test_a_file_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(BadReviews):
        parse_reviews(text)
