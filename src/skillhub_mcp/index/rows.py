"""Rows of the index, as they are written, and what is read back of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillhub_mcp.skills.model import Skill


@dataclass(frozen=True, slots=True)
class IndexRow:
    """One row of the table: its key, a skill, its body, and its vector where there is one.

    A vector that `is_stale` is used until the embedder has returned another.
    """

    key: str
    skill: Skill
    instructions: str
    vector: Sequence[float] | None
    is_stale: bool = False


@dataclass(frozen=True, slots=True)
class StoredVector:
    """A vector, and the text that was embedded: None where it is to be embedded again."""

    text: str | None
    vector: Sequence[float]
