"""Choose rules by their ids."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.skills.names import near_names
from skillhub_mcp.skills.rules import RULES
from skillhub_mcp.validation.checker import ValidationResult


def chosen_rules(
    select: Sequence[str], ignore: Sequence[str], *, among: Collection[str] = RULES.keys(), command: str = "validate"
) -> frozenset[str]:
    """Return the ids of the rules of `select`, or all if it is empty, without those of `ignore`.

    Each item is a list of ids with commas between them; `key` is every rule whose id starts with `key-`. `among` are
    the ids of all rules, which `command` lists. Raises InvalidArgument.
    """

    def named(option: str, items: Sequence[str]) -> frozenset[str]:
        found: set[str] = set()
        for written in (part.strip() for item in items for part in item.split(",")):
            matching = {rule for rule in among if rule == written or rule.startswith(f"{written}-")}
            if not written or not matching:
                near = near_names(written, among, limit=1)
                hint = f"did you mean {near[0]!r}?" if near else f"skillhub {command} --list-rules"
                raise InvalidArgument(option, f"names no rule: {written!r}", hint=hint)
            found |= matching
        return frozenset(found)

    return (named("--select", select) if select else frozenset(among)) - named("--ignore", ignore)


def only(result: ValidationResult, rules: Collection[str]) -> ValidationResult:
    """Return the result with the findings of `rules` alone."""
    return replace(result, findings=tuple(finding for finding in result.findings if finding.rule in rules))
