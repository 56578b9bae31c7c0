"""Names in rules and filters that no skill has, with the nearest one. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from skillhub_mcp.policy.rules import Rules
from skillhub_mcp.policy.visibility import Visibility
from skillhub_mcp.skills.model import Problem, Skill
from skillhub_mcp.skills.names import fold_name, near_names
from skillhub_mcp.skills.selectors import is_selector

_SHOWN = 12


@dataclass(frozen=True)
class KnownNames:
    """What can be named: skills by name, safe alias or group, and categories."""

    skills: Sequence[Skill]

    def unknown_skills(self, names: Iterable[str]) -> list[str]:
        """Return those of `names` that no skill has, in quotes. A glob or a group may wait for its first skill."""
        known = {fold_name(name) for skill in self.skills for name in (skill.name, skill.alias)}
        exact = (name for name in sorted(names) if not is_selector(name))
        return _unknown(exact, known, {skill.alias or skill.name for skill in self.skills})

    def unknown_categories(self, names: Iterable[str]) -> list[str]:
        """Return those of `names` that are no skill's category, in quotes."""
        categories = {skill.category for skill in self.skills if skill.category is not None}
        return _unknown(sorted(names), set(map(fold_name, categories)), categories)


def rules_problems(known: KnownNames, path: str, rules: Rules, *, changeable: bool) -> tuple[Problem, ...]:
    """Return a problem if the rules at `path`, which `skillhub allow` may change, name unknown skills."""
    named = {one.rule.skill_name for one in rules.listed() if one.rule.skill_name is not None}
    what = "has rules for skills that are not here: "
    fix = "correct them" + (", or `skillhub allow --forget NAME`" if changeable else " there, or remove them")
    return _problems(path, what, known.unknown_skills(named), fix)


def filter_problems(
    known: KnownNames, visibility: Visibility, subject: str, *, of_token: bool = False
) -> tuple[Problem, ...]:
    """Return what a filter of the server or of a token names that does not exist. Names make categories void."""
    verb, empty = ("grants", "it grants nothing") if of_token else ("names", "nothing is served")
    if visibility.is_empty:
        what, fix = f"is set and names nothing: {empty}", "name something, or unset it to serve every skill"
        return (Problem(subject, what, fix),)
    unknown, kind = known.unknown_skills(visibility.names or ()), "skills"
    if visibility.names is None:
        unknown, kind = known.unknown_categories(visibility.categories or ()), "categories"
    fix = "correct it, or add what is missing"
    if not any(map(visibility.allows, known.skills)):
        fix = f"{empty} until then: {fix}"
    return _problems(subject, f"{verb} {kind} that are not here: ", unknown, fix)


def _problems(subject: str, what: str, unknown: Sequence[str], fix: str) -> tuple[Problem, ...]:
    more = len(unknown) - _SHOWN
    shown = ", ".join(unknown[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
    return (Problem(subject, f"{what}{shown}", fix),) if unknown else ()


def _unknown(names: Iterable[str], known: Collection[str], offered: Collection[str]) -> list[str]:
    found = []
    for name in names:
        if fold_name(name) not in known:
            near = near_names(name, offered, limit=1)
            found.append(repr(name) + (f" (did you mean {near[0]!r}?)" if near else ""))
    return found
