"""What a tool does with a skill: load it, read its files, run its commands, or nothing. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property


class Action(str, Enum):
    """What is done with one skill."""

    LOAD = "load"
    READ = "read"
    RUN = "run"


@dataclass(frozen=True)
class ToolActions:
    """The tools by what they do; a new rule names the first of its list. `other` tools concern no single skill."""

    load: tuple[str, ...]
    read: tuple[str, ...]
    run: tuple[str, ...]
    other: tuple[str, ...]

    @cached_property
    def by_tool(self) -> Mapping[str, Action | None]:
        """The action of every tool; None for one that concerns no single skill."""
        return {
            **dict.fromkeys(self.load, Action.LOAD),
            **dict.fromkeys(self.read, Action.READ),
            **dict.fromkeys(self.run, Action.RUN),
            **dict.fromkeys(self.other),
        }

    def action(self, tool: str) -> Action | None:
        """Return what `tool` does with a skill; None for a tool that concerns no single one, or that is not known."""
        return self.by_tool.get(tool)

    def rule_tool(self, action: Action) -> str:
        """Return the tool that a new rule about `action` names."""
        return self._by_action[action][0]

    def denying(self, action: Action) -> frozenset[str]:
        """Return the tools whose denial denies `action`: a skill that must not be loaded is not read or run either."""
        return self._denying[action]

    def allowing(self, action: Action) -> frozenset[str]:
        """Return the tools whose permission permits `action`: to load a skill includes its files, not its commands."""
        return self._allowing[action]

    @cached_property
    def _by_action(self) -> Mapping[Action, tuple[str, ...]]:
        return {Action.LOAD: self.load, Action.READ: self.read, Action.RUN: self.run}

    @cached_property
    def _denying(self) -> Mapping[Action, frozenset[str]]:
        return {action: frozenset((*self.load, *tools)) for action, tools in self._by_action.items()}

    @cached_property
    def _allowing(self) -> Mapping[Action, frozenset[str]]:
        return {**self._denying, Action.RUN: frozenset(self.run)}
