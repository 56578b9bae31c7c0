"""The filter of a search: a category and tags."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.names import fold_name


@dataclass(frozen=True, slots=True)
class Filter:
    """A category, and tags that a skill must all have; folded, so that case does not matter."""

    category: str | None = None
    tags: tuple[str, ...] = ()

    @classmethod
    def create(cls, category: str | None, tags: Iterable[str]) -> Filter:
        """Return the filter for a caller's category and tags, in any case; empty text filters nothing."""
        own = fold_name(category or "")
        return cls(own or None, tuple(dict.fromkeys(word for tag in tags if (word := fold_name(tag)))))

    def __bool__(self) -> bool:
        return self.category is not None or bool(self.tags)

    def matches(self, skill: Skill) -> bool:
        """Whether `skill` passes the filter."""
        if self.category is not None and (not skill.category or fold_name(skill.category) != self.category):
            return False
        return not self.tags or {fold_name(tag) for tag in skill.tags}.issuperset(self.tags)


NO_FILTER = Filter()
