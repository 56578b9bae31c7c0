"""Names in rules and filters that no skill has, with the nearest one. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from skillhub_mcp.policy.access_tokens import Tokens
from skillhub_mcp.policy.rules import Rules
from skillhub_mcp.policy.visibility import Visibility
from skillhub_mcp.skills.model import Problem, Skill
from skillhub_mcp.skills.names import fold_name, near_names
from skillhub_mcp.skills.selectors import is_selector

_SHOWN = 12


@dataclass(frozen=True, slots=True)
class UnknownName:
    """A name that no skill, or no category, has; `near` is the most similar existing one, or empty."""

    name: str
    near: str = ""

    def __str__(self) -> str:
        return repr(self.name) + (f" (did you mean {self.near!r}?)" if self.near else "")


@dataclass(frozen=True)
class KnownNames:
    """What can be named: skills by name, safe alias or group, and categories."""

    skills: Sequence[Skill]

    def unknown_skills(self, names: Iterable[str]) -> tuple[UnknownName, ...]:
        """Return those of `names` that no skill has. A glob or a group may wait for its first skill."""
        known = {fold_name(name) for skill in self.skills for name in (skill.name, skill.alias)}
        exact = (name for name in sorted(names) if not is_selector(name))
        return _unknown(exact, known, {skill.alias or skill.name for skill in self.skills})

    def unknown_categories(self, names: Iterable[str]) -> tuple[UnknownName, ...]:
        """Return those of `names` that are no skill's category."""
        categories = {skill.category for skill in self.skills if skill.category is not None}
        return _unknown(sorted(names), set(map(fold_name, categories)), categories)


def rules_problems(known: KnownNames, path: str, rules: Rules, *, changeable: bool) -> tuple[Problem, ...]:
    """Return a problem if the rules at `path`, which `skillhub allow` may change, name unknown skills."""
    named = {one.rule.skill_name for one in rules.listed() if one.rule.skill_name is not None}
    what = "has rules for skills that are not here: "
    fix = "correct them" + (", or `skillhub allow --forget NAME`" if changeable else " there, or remove them")
    return _problems(path, what, known.unknown_skills(named), fix)


def tokens_problems(known: KnownNames, path: str, tokens: Tokens) -> tuple[Problem, ...]:
    """Return the tokens of the file at `path` whose filters name what does not exist."""
    found: list[Problem] = []
    for token in tokens.tokens:
        about = f"the token {token.name!r} in {path}"
        found += _filter_problems(known, token.visibility, (about, about), verb="grants", empty="it grants nothing")
    return tuple(found)


def server_filter_problems(known: KnownNames, visibility: Visibility, settings: tuple[str, str]) -> tuple[Problem, ...]:
    """Return what the server's filter names that does not exist; `settings` are those of skills and categories."""
    return _filter_problems(known, visibility, settings, verb="names", empty="nothing is served")


def _filter_problems(
    known: KnownNames, visibility: Visibility, about: tuple[str, str], *, verb: str, empty: str
) -> tuple[Problem, ...]:
    """Return the unknown names of a filter. With names of skills, its categories have no effect."""
    unknown, kind, subject = known.unknown_skills(visibility.names or ()), "skills", about[0]
    if visibility.names is None:
        unknown, kind, subject = known.unknown_categories(visibility.categories or ()), "categories", about[1]
    if visibility.is_empty:
        what, fix = f"is set and names nothing: {empty}", "name something, or unset it to serve every skill"
        return (Problem(subject, what, fix),)
    fix = "correct it, or add what is missing"
    if not any(map(visibility.allows, known.skills)):
        fix = f"{empty} until then: {fix}"
    return _problems(subject, f"{verb} {kind} that are not here: ", unknown, fix)


def _problems(about: str, what: str, unknown: tuple[UnknownName, ...], fix: str) -> tuple[Problem, ...]:
    more = len(unknown) - _SHOWN
    shown = ", ".join(map(str, unknown[:_SHOWN])) + (f" and {more:,} more" if more > 0 else "")
    return (Problem(about, f"{what}{shown}", fix),) if unknown else ()


def _unknown(names: Iterable[str], known: Collection[str], offered: Collection[str]) -> tuple[UnknownName, ...]:
    return tuple(
        UnknownName(name, next(iter(near_names(name, offered, limit=1)), ""))
        for name in names
        if fold_name(name) not in known
    )
