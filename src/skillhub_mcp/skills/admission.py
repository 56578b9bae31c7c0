"""Which breaches keep a skill out? One answer for each kind of reader; nothing is read here, and nothing is lost.

What a scan remembers is judged anew by each reader, so that one scan serves the hub, a strict registry and Codelia's
tools alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from skillhub_mcp.skills.model import HeaderShape, Skill
from skillhub_mcp.skills.rules import RULES, Diagnostic, Severity, breach

_UNUSABLE = frozenset(rule.id for rule in RULES.values() if rule.refuses)
_SPECIFIED = frozenset(rule.id for rule in RULES.values() if rule.verdict is Severity.ERROR)
_NAMED = frozenset({"name-missing"})
_REGISTRY = frozenset({"registry-markup", "registry-lines", "registry-line-length"})
_CODELIA = _NAMED | {"name-form", "name-ascii", "name-directory", "description-length"}


@dataclass(frozen=True, slots=True)
class Admission:
    """Which rules refuse a skill, and the bounds that a strict registry sets (seed 003 §4.2).

    Without `max_header_lines` and `max_line_characters`, and with `markup` allowed, those rules are not looked at.
    """

    refusing: frozenset[str]
    ascii_names: bool = False
    markup: bool = True
    max_header_lines: int | None = None
    max_line_characters: int | None = None

    def breaches(self, skill: Skill | None, found: Sequence[Diagnostic], shape: HeaderShape) -> tuple[Diagnostic, ...]:
        """Return what is wrong for this reader: what reading `found`, and what only this reader minds."""
        more: list[Diagnostic] = []
        if skill is not None and self.ascii_names and not skill.name.isascii():
            more.append(breach("name-ascii", f"the name is {skill.name!r}"))
        if not self.markup and shape.markup is not None:
            more.append(breach("registry-markup", f"the value of {shape.markup!r} holds an angle bracket"))
        if self.max_header_lines is not None and shape.lines > self.max_header_lines:
            more.append(breach("registry-lines", f"the frontmatter has {shape.lines:,} lines"))
        if self.max_line_characters is not None and shape.longest > self.max_line_characters:
            what = f"a line has {shape.longest:,} characters"
            more.append(breach("registry-line-length", what, line=shape.longest_at))
        return (*found, *more) if more else tuple(found)

    def refuses(self, breaches: Sequence[Diagnostic]) -> bool:
        """Whether one of these breaches keeps the skill out."""
        return any(diagnostic.rule in self.refusing for diagnostic in breaches)

    def reason(self, breaches: Sequence[Diagnostic]) -> Diagnostic:
        """Return the one of a refused skill's breaches that keeps it out, what makes it unusable before all else."""
        return min(breaches, key=lambda d: (d.rule not in self.refusing, d.rule not in _UNUSABLE))


LENIENT = Admission(_UNUSABLE)
"""The hub's own: whatever has a name and a description is served (DECISIONS 11)."""

STRICT = Admission(_UNUSABLE | _SPECIFIED)
"""SKILLHUB_STRICT: whatever breaks the specification is refused."""

CODELIA = Admission(_UNUSABLE | _CODELIA, ascii_names=True)
"""Seed 000 §5.3."""

REGISTRY_LENIENT = Admission(_UNUSABLE - {"description-missing"})
"""Seed 003 §4.3, for libraries that are being moved: a missing description is empty, and noted."""

REGISTRY_STRICT = Admission(_UNUSABLE | _NAMED | _REGISTRY, markup=False, max_header_lines=200, max_line_characters=500)
"""Seed 003 §4.2 and §4.3."""


def registry_strict(*, max_header_lines: int, max_line_characters: int) -> Admission:
    """Return seed 003's strict reader with other bounds."""
    return replace(REGISTRY_STRICT, max_header_lines=max_header_lines, max_line_characters=max_line_characters)
