"""A candidate of a search: a row of the index, before it is scored."""

from __future__ import annotations

from typing import NamedTuple

from skillhub_mcp.index.features import SkillFeatures


class Candidate(NamedTuple):
    """A skill that may match: its directory, its features, and the cosine to the query vector, where it is known."""

    directory: str
    features: SkillFeatures
    nearness: float | None = None
