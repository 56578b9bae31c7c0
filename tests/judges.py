"""A judge over skills for tests: who answers to a name depends on what it offers and hides."""

from __future__ import annotations

from collections.abc import Callable

from skillhub_mcp.skills.model import Skill


class Offering:
    """Offers what `offers` holds for, and hides what `hides` holds for."""

    def __init__(
        self, offers: Callable[[Skill], bool] = lambda _: True, hides: Callable[[Skill], bool] = lambda _: False
    ) -> None:
        self._offers = offers
        self._hides = hides

    def offers(self, skill: Skill, /) -> bool:
        """Whether the skill is served."""
        return self._offers(skill) and not self._hides(skill)

    def hides(self, skill: Skill, /) -> bool:
        """Whether the skill does not exist."""
        return self._hides(skill)
