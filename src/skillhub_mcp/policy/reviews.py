"""Accepted findings of the audit, each for one skill with one digest. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated

from pydantic import Field, PlainSerializer

from skillhub_mcp._util.safe_json import JsonFormat

_Digest = Annotated[str, Field(pattern="^sha256:")]


@dataclass(frozen=True, slots=True)
class Review:
    """One review: the accepted rules, with the skill's name and directory, date and reasons for people."""

    rules: Annotated[frozenset[str], PlainSerializer(sorted)]
    name: str = ""
    path: str = ""
    at: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reviews:
    """The reviews by the digest of the skill."""

    by_digest: Annotated[Mapping[_Digest, Review], Field(alias="reviews")] = field(default_factory=dict)

    def accepted(self, digest: str) -> frozenset[str]:
        """Return the ids of the rules whose findings are accepted for a skill of that digest."""
        review = self.by_digest.get(digest)
        return frozenset() if review is None else review.rules

    def reasons(self, digest: str) -> Mapping[str, str]:
        """Return why findings are accepted for a skill of that digest, by the id of the rule."""
        review = self.by_digest.get(digest)
        return {} if review is None else review.reasons

    def with_review(self, digest: str, review: Review) -> Reviews:
        """Return the reviews with one more, merged with an earlier one of the same files."""
        before = self.by_digest.get(digest)
        if before is not None:
            review = replace(review, rules=before.rules | review.rules, reasons={**before.reasons, **review.reasons})
        return Reviews({**self.by_digest, digest: review})

    def of(self, digests: Collection[str], paths: Collection[str] = ()) -> Mapping[str, Review]:
        """Return, by digest, the reviews of `digests`, and of skills that were at `paths`."""
        return {
            digest: review
            for digest, review in self.by_digest.items()
            if digest in digests or (review.path and review.path in paths)
        }

    def without(
        self, digests: Collection[str], paths: Collection[str] = (), rules: Collection[str] | None = None
    ) -> Reviews:
        """Return the reviews without `digests` and `paths`; with `rules`, only these rules are removed."""
        kept = dict(self.by_digest)
        for digest, review in self.of(digests, paths).items():
            left = frozenset() if rules is None else review.rules.difference(rules)
            reasons = {rule: reason for rule, reason in review.reasons.items() if rule in left}
            kept[digest] = replace(review, rules=left, reasons=reasons)
            if not left:
                del kept[digest]
        return Reviews(kept)


NO_REVIEWS = Reviews()
REVIEWS_FORMAT = JsonFormat(Reviews)
