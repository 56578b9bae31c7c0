"""Admission: the violations that exclude a skill, for each consumer of a scan. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillhub_mcp.skills.model import HeaderShape, Skill
from skillhub_mcp.skills.rules import RULES, Diagnostic, RuleSource, Severity, violation

_UNUSABLE = frozenset(rule.id for rule in RULES.values() if rule.refuses)
_SPECIFIED = frozenset(
    rule.id for rule in RULES.values() if rule.verdict is Severity.ERROR and rule.origin is not RuleSource.ADVICE
)
_NAMED = frozenset({"name-missing"})
_REGISTRY = frozenset({"registry-markup", "registry-lines", "registry-line-length"})
_AGENT_CONTEXT = _NAMED | {"file-name", "name-form", "name-ascii", "name-directory", "description-length"}


@dataclass(frozen=True, slots=True)
class Admission:
    """The rules that exclude a skill, and the limits of a strict registry, which are checked only if they are set."""

    refusing: frozenset[str]
    ascii_names: bool = False
    markup: bool = True
    max_header_lines: int | None = None
    max_line_characters: int | None = None

    def violations(
        self, skill: Skill | None, found: Sequence[Diagnostic], shape: HeaderShape
    ) -> tuple[Diagnostic, ...]:
        """Return the violations that reading `found`, and those of this consumer's own rules."""
        more: list[Diagnostic] = []
        if skill is not None and self.ascii_names and not skill.name.isascii():
            more.append(
                violation("name-ascii", f"the name {skill.name!r} has other characters than a-z, 0-9 and hyphens")
            )
        if not self.markup and shape.markup is not None:
            more.append(violation("registry-markup", f"the value of {shape.markup!r} contains an angle bracket"))
        if self.max_header_lines is not None and shape.lines > self.max_header_lines:
            more.append(violation("registry-lines", f"the frontmatter has {shape.lines:,} lines"))
        if self.max_line_characters is not None and shape.longest > self.max_line_characters:
            message = f"a line has {shape.longest:,} characters"
            more.append(violation("registry-line-length", message, line=shape.longest_at))
        return (*found, *more) if more else tuple(found)

    def refuses(self, violations: Sequence[Diagnostic]) -> bool:
        """Whether one of these violations excludes the skill."""
        return any(diagnostic.rule in self.refusing for diagnostic in violations)

    def reason(self, violations: Sequence[Diagnostic]) -> Diagnostic:
        """Return the violation that excludes a refused skill; one that makes it unusable comes first."""
        return min(violations, key=lambda d: (d.rule not in self.refusing, d.rule not in _UNUSABLE))


LENIENT = Admission(_UNUSABLE)
"""The hub's default: every skill with a name and a description is served."""

STRICT = Admission(_UNUSABLE | _SPECIFIED)
"""SKILLHUB_STRICT: a skill that violates the specification is refused."""

AGENT_CONTEXT = Admission(_UNUSABLE | _AGENT_CONTEXT, ascii_names=True)
"""The agent-context tools: the name and the description have to conform, and the name has to be ASCII."""

REGISTRY_LENIENT = Admission(_UNUSABLE - {"description-missing"})
"""The lenient registry, for libraries under migration: a missing description is empty, and reported."""

REGISTRY_STRICT = Admission(_UNUSABLE | _NAMED | _REGISTRY, markup=False, max_header_lines=200, max_line_characters=500)
"""The strict registry: a name is required, and markup and long frontmatter are refused."""
