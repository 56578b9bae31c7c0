"""What a person has reviewed and accepted of the audit's findings: rules, for one skill as it was then. Pure.

A review is bound to the skill's digest: when any of its files changes, its findings are told again. It is in the
person's own file; no file of a skill or of a project can accept anything.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

_FORMAT = 1
_DIGEST = "sha256:"


class BadReviews(ValueError):
    """A file of reviews that cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Review:
    """One review: the ids of the rules whose findings are accepted, the skill's name and directory then, when, and why.

    Only `rules` counts; the rest is for people. `at` is a day, such as 2026-11-22.
    """

    rules: frozenset[str]
    name: str = ""
    path: str = ""
    at: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Reviews:
    """The reviews by the digest of the skill."""

    by_digest: Mapping[str, Review] = field(default_factory=dict)

    def accepted(self, digest: str) -> frozenset[str]:
        """Return the ids of the rules whose findings are accepted for a skill of that digest."""
        review = self.by_digest.get(digest)
        return frozenset() if review is None else review.rules

    def with_review(self, digest: str, review: Review) -> Reviews:
        """Return the reviews with one more; of the same skill as it is, the rules of both are accepted."""
        rules = review.rules | self.accepted(digest)
        return Reviews({**self.by_digest, digest: replace(review, rules=rules)})

    def without(self, digests: Collection[str], paths: Collection[str] = ()) -> Reviews:
        """Return the reviews without those of `digests`, and of skills that were at `paths`."""
        kept = {
            digest: review
            for digest, review in self.by_digest.items()
            if digest not in digests and (not review.path or review.path not in paths)
        }
        return Reviews(kept)


NO_REVIEWS = Reviews()


def parse_reviews(text: str) -> Reviews:
    """Return the reviews in a file. Raises BadReviews for anything that is not one."""
    try:
        written = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadReviews(f"it is not valid JSON ({error})") from error
    if (
        not isinstance(written, dict)
        or written.get("format") != _FORMAT
        or not isinstance(written.get("reviews"), dict)
    ):
        raise BadReviews(f'it is not {{"format": {_FORMAT}, "reviews": {{…}}}}')
    return Reviews({digest: _review(digest, one) for digest, one in written["reviews"].items()})


def _review(digest: str, written: object) -> Review:
    if not digest.startswith(_DIGEST) or not isinstance(written, dict):
        raise BadReviews(f"{digest!r} is no review of a digest")
    rules = written.get("rules")
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise BadReviews(f"the review of {digest!r} has no list of rules")
    name, path, at, reason = (str(written.get(key, "")) for key in ("name", "path", "at", "reason"))
    return Review(frozenset(rules), name, path, at, reason)


def reviews_text(reviews: Reviews) -> str:
    """Return the text of the file of `reviews`."""
    entries: Iterable[tuple[str, Review]] = sorted(reviews.by_digest.items(), key=lambda one: (one[1].name, one[0]))
    written = {
        digest: {
            "name": one.name,
            "path": one.path,
            "rules": sorted(one.rules),
            "at": one.at,
            **({"reason": one.reason} if one.reason else {}),
        }
        for digest, one in entries
    }
    return json.dumps({"format": _FORMAT, "reviews": written}, ensure_ascii=False, indent=2) + "\n"
