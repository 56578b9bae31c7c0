"""Which skills may this server serve? Decided here once; search and loading are told the answer (seed 002 §8.3)."""

from __future__ import annotations

from dataclasses import dataclass

from skillhub_mcp.skills.model import Skill


@dataclass(frozen=True, slots=True)
class Visibility:
    """The names or safe aliases, else the categories (lower-case), that are served; both empty serves everything."""

    names: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset()

    @property
    def limits(self) -> bool:
        """Whether anything is left out at all."""
        return bool(self.names or self.categories)

    @property
    def setting(self) -> str:
        """The setting that decides, to be named in an error."""
        return "SKILLHUB_ENABLED_SKILLS" if self.names else "SKILLHUB_ENABLED_CATEGORIES"

    def allows(self, skill: Skill) -> bool:
        """Whether `skill` is served. Where names are given, they alone decide."""
        if self.names:
            return skill.name in self.names or skill.alias in self.names
        return not self.categories or skill.category in self.categories
