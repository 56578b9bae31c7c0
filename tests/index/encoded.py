"""The features of one skill: the product counts many at once."""

from __future__ import annotations

from dataclasses import dataclass

from skillhub_mcp.index.features import TermCounter
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
