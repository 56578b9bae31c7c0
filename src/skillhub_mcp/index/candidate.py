"""A row of the index that a search may return, before it is scored."""

from __future__ import annotations

from typing import NamedTuple

from skillhub_mcp.index.features import SkillFeatures


class Candidate(NamedTuple):
    """A skill that may fit: its directory, its features, and the cosine of its vector, where that is known."""

    directory: str
    features: SkillFeatures
    nearness: float | None = None
