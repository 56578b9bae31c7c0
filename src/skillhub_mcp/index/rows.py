"""Rows of the index: those written for a skill, and those read back to find what must change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from skillhub_mcp.skills.model import Skill


@dataclass(frozen=True, slots=True)
class IndexRow:
    """One row of the table: a skill, its body, and its vector where there is one.

    A vector that `is_stale` is used until the embedder has returned another.
    """

    skill: Skill
    instructions: str
    vector: Sequence[float] | None
    is_stale: bool = False


class StoredRow(NamedTuple):
    """Root and content hash of a row: enough to decide whether it must change."""

    root: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class StoredVector:
    """A vector, and the text that was embedded: None where it is to be embedded again."""

    text: str | None
    vector: Sequence[float]
