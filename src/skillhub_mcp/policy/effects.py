"""What a change of the rules changes for the skills that are there. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from skillhub_mcp.policy.rules import Decision, RulesInForce
from skillhub_mcp.policy.tool_actions import Action, ToolActions
from skillhub_mcp.skills.model import Skill


@dataclass(frozen=True, slots=True)
class Effect:
    """An action that is decided otherwise from now on: how, and for which skills, by name."""

    action: Action
    decision: Decision
    names: tuple[str, ...]


def effects_of(
    before: RulesInForce, after: RulesInForce, skills: Iterable[Skill], *, tools: ToolActions
) -> tuple[Effect, ...]:
    """Return what is decided otherwise by `after` than by `before`, about loading and then about running.

    Where both change in the same way for a skill, loading alone is told.
    """
    found: dict[tuple[Action, Decision], set[str]] = {}
    for skill in skills:
        names, old, now = (skill.name, skill.alias), before.about(skill), after.about(skill)
        changed = {
            action: new
            for action in (Action.LOAD, Action.RUN)
            if (new := now.decide(action, names, tools=tools)) is not old.decide(action, names, tools=tools)
        }
        if changed.get(Action.LOAD) is changed.get(Action.RUN):
            changed.pop(Action.RUN, None)
        for action, decision in changed.items():
            found.setdefault((action, decision), set()).add(skill.name)
    order = [(action, decision) for action in (Action.LOAD, Action.RUN) for decision in Decision]
    return tuple(Effect(*key, tuple(sorted(found[key]))) for key in order if key in found)
