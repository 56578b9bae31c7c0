"""What stands before each use of a skill besides the policy: hooks, while a server answers a request.

Whatever hands out instructions or files, or runs commands, passes the gate after the policy has permitted it, whichever
tool, prompt or resource it is for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.skills.model import Skill


@dataclass(frozen=True, slots=True)
class SkillUse:
    """What is about to be done with one skill; `handle` loads exactly this one, `file_path` is for reading a file."""

    skill: Skill
    handle: str
    action: Action
    file_path: str = ""


_GATE: ContextVar[Callable[[SkillUse], None] | None] = ContextVar("skillhub_gate", default=None)


@contextmanager
def gated(gate: Callable[[SkillUse], None]) -> Iterator[None]:
    """Let each use pass `gate` while this lasts, in this task and the threads that it runs work in.

    The gate raises what forbids a use.
    """
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
