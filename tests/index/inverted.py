"""Skills as the index has them, one at a time and in memory: the product counts and inverts many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillhub_mcp.index.features import SkillFeatures, TermCounter
from skillhub_mcp.index.segment import InvertedSkills, SegmentBuilder
from skillhub_mcp.skills.model import Skill


@dataclass(frozen=True, slots=True)
class EncodedFeatures:
    """The features of a skill as they are stored, for `decode_features` to read.

    `words` are the words of the short fields as written, for correcting a query's spelling.
    """

    encoded: bytes
    words: frozenset[str]


def encode_features(skill: Skill, body: str) -> EncodedFeatures:
    """Return the features of a skill with that body."""
    counted = TermCounter().count([(skill, body)])
    return EncodedFeatures(counted.encoded()[0].tobytes(), frozenset(counted.words))


def invert(
    keys: Sequence[str], features: Sequence[SkillFeatures], vectors: Sequence[Sequence[float] | None]
) -> InvertedSkills:
    """Return skills with their terms inverted."""
    builder = SegmentBuilder()
    for one in zip(keys, features, vectors, strict=True):
        builder.add(*one)
    return builder.parts()[0].skills
