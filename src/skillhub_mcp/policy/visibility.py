"""The filter of skills that a server or a token may serve, by name, glob or group. Search and loading both apply it."""

from __future__ import annotations

from dataclasses import dataclass, field

from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.names import fold_name
from skillhub_mcp.skills.selectors import is_glob, selects, terms_of


@dataclass(frozen=True, slots=True)
class Visibility:
    """The served names, globs or groups, or else categories. None serves every skill, an empty set none."""

    names: frozenset[str] | None = None
    categories: frozenset[str] | None = None
    _folded_names: frozenset[str] = field(init=False, repr=False, compare=False)
    _globs: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _folded_categories: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # A name of only punctuation has an empty alias, which no filter means.
        object.__setattr__(self, "_folded_names", frozenset(map(fold_name, self.names or ())) - {""})
        object.__setattr__(self, "_globs", tuple(filter(is_glob, self._folded_names)))
        object.__setattr__(self, "_folded_categories", frozenset(map(fold_name, self.categories or ())) - {""})

    @property
    def limits(self) -> bool:
        """Whether there is a filter at all."""
        return self.names is not None or self.categories is not None

    @property
    def is_empty(self) -> bool:
        """Whether there is a filter that names nothing, so that no skill passes it."""
        return self.limits and not (self._folded_categories if self.names is None else self._folded_names)

    @property
    def setting(self) -> str:
        """The name of the setting that takes effect, for error messages."""
        return "SKILLHUB_ENABLED_CATEGORIES" if self.names is None else "SKILLHUB_ENABLED_SKILLS"

    def allows(self, skill: Skill) -> bool:
        """Whether `skill` is served. If names are given, categories are ignored."""
        if self.names is not None:
            terms = frozenset(map(fold_name, terms_of(skill)))
            return not terms.isdisjoint(self._folded_names) or any(selects(one, terms) for one in self._globs)
        if self.categories is None:
            return True
        return skill.category is not None and fold_name(skill.category) in self._folded_categories
