"""The check before each use of a skill besides the policy: a server's hooks, for every tool and resource."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.skills.model import Skill


@dataclass(frozen=True, slots=True)
class SkillUse:
    """A use of one skill; `handle` loads exactly this one, `file_path` is for reading a file."""

    skill: Skill
    handle: str
    action: Action
    file_path: str = ""


_GATE: ContextVar[Callable[[SkillUse], None] | None] = ContextVar("skillhub_gate", default=None)


@contextmanager
def gated(gate: Callable[[SkillUse], None]) -> Iterator[None]:
    """Pass each use to `gate`, in this task and in the threads that it starts. The gate raises to forbid a use."""
    token = _GATE.set(gate)
    try:
        yield
    finally:
        _GATE.reset(token)


def pass_gate(use: SkillUse) -> None:
    """Return if nothing forbids `use`. Raises what the gate raises."""
    gate = _GATE.get()
    if gate is not None:
        gate(use)
