"""Middleware that runs the user's hooks around each tool call; `execution.hooks` reads and runs them.

A hook for `load_skill` stands before each way to a skill's instructions (prompts, resources, other tools), and one for
`read_skill_file` before each way to a file. It gets what that tool would have been called with, once for each request.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from fastmcp.server.middleware import Middleware
from fastmcp.tools.base import InputRequiredToolResult, ToolResult

from skillhub_mcp.errors import BlockedByHook
from skillhub_mcp.execution.hooks import Hook, HookEvent, run_hook
from skillhub_mcp.policy.hook_gate import SkillUse, gated
from skillhub_mcp.policy.tool_actions import TOOLS, Action
from skillhub_mcp.server.middleware_types import AnyRequest, CallTool, Next
from skillhub_mcp.skills.model import SKILL_FILE

log = logging.getLogger(__name__)

_LOAD, _READ = "load_skill", "read_skill_file"
# The argument of each tool that names its skill.
_SKILL_ARGUMENT = {
    _LOAD: "skill_name",
    _READ: "skill_name",
    "run_skill_command": "skill_name",
    "skill_load": "name",
    "Skill": "skill",
}


class HookMiddleware(Middleware):
    """Runs hooks one after another: one that fails before a call stops it, one that fails after it is logged."""

    def __init__(self, hooks: Sequence[Hook], *, cwd: Callable[[], str]) -> None:
        self._hooks = tuple(hooks)
        self._cwd = cwd

    @contextmanager
    def standing_before(self, method: str) -> Iterator[None]:
        """Let the hooks stand before each use of a skill while this lasts, for one request."""
        request = _Request(self._hooks, self._cwd(), method)
        token = _REQUEST.set(request)
        try:
            with gated(request.stand_before):
                yield
        finally:
            _REQUEST.reset(token)

    async def on_request(self, context: AnyRequest, call_next: Next) -> Any:
        with self.standing_before(context.method or ""):
            return await call_next(context)

    async def on_call_tool(self, context: CallTool, call_next: Next) -> Any:
        request, tool = _REQUEST.get(), context.message.name
        assert request is not None  # noqa: S101 - for the type checker: each call is a request
        arguments = context.message.arguments or {}
        request.tool, request.arguments = tool, arguments
        call = {"tool_name": tool, "tool_input": arguments}
        for hook in self._matching("PreToolUse", tool):
            failure = await asyncio.to_thread(request.run, hook, call)
            if failure is not None:
                raise BlockedByHook(tool, failure)
        result = await call_next(context)
        # A question to the person is not a result yet: the call is repeated with the answer.
        if isinstance(result, ToolResult) and not isinstance(result, InputRequiredToolResult):
            for hook in self._matching("PostToolUse", tool):
                failure = await asyncio.to_thread(request.run, hook, {**call, "tool_response": _response(result)})
                if failure is not None:
                    log.warning("A PostToolUse hook for %s failed: %s", tool, failure)
        return result

    def _matching(self, event: HookEvent, tool: str) -> list[Hook]:
        return [hook for hook in self._hooks if hook.event == event and hook.matcher.fullmatch(tool)]


class _Request:
    """One request, the hooks that it passes, and what they were asked already. `tool` is the one that it calls."""

    def __init__(self, hooks: Sequence[Hook], cwd: str, method: str) -> None:
        self._hooks = hooks
        self._cwd = cwd
        self._method = method
        self.tool = ""
        self.arguments: Mapping[str, object] = {}
        self._passed: set[tuple[int, str | None, str, str]] = set()

    def run(self, hook: Hook, call: Mapping[str, object]) -> str | None:
        """Run a hook for a call and wait for it. Return why it failed, or None."""
        payload = {"hook_event_name": hook.event, "cwd": self._cwd, "method": self._method, **call}
        return run_hook(hook, payload)

    def stand_before(self, use: SkillUse) -> None:
        """Run the hooks that stand before `use` and did not run for it yet. Raises BlockedByHook."""
        hooks = [(number, hook) for number, hook in enumerate(self._hooks) if hook.event == "PreToolUse"]
        for tools in self._ways(use):
            for number, hook in hooks:
                tool = next(filter(hook.matcher.fullmatch, tools), None)
                key = (number, tool, use.skill.directory, use.file_path)
                if tool is None or key in self._passed:
                    continue
                if tool == self.tool and self.arguments.get(_SKILL_ARGUMENT.get(tool, "")) == use.skill.name:
                    # It ran before the call, with the skill's own name.
                    continue
                reported = {"name": use.skill.name, "handle": use.handle, "path": use.skill.directory}
                call = {"tool_name": tool, "tool_input": self._input(tool, use), "skill": reported}
                failure = self.run(hook, call)
                if failure is not None:
                    raise BlockedByHook(tool, failure)
                self._passed.add(key)

    def _ways(self, use: SkillUse) -> Iterator[Sequence[str]]:
        """Yield, for each kind of thing that is handed out, the tools whose hooks stand before it.

        A hook runs for the first of them that it names: the tool of the call, if it is one.
        """
        called = (self.tool,) if self.tool else ()
        if use.action is Action.RUN:
            # A command may read the instructions and each file. A hook for running it is asked about just that.
            yield (*called, _LOAD)
            yield (*called, _READ)
        if use.action is Action.READ:
            yield (*called, _READ)
        if use.action is Action.LOAD:
            yield (*called, _LOAD) if called else (_LOAD, *TOOLS[Action.LOAD])
        elif use.action is Action.READ and _is_instructions(use):
            yield (_LOAD, *TOOLS[Action.LOAD])

    def _input(self, tool: str, use: SkillUse) -> Mapping[str, object]:
        """Return what `tool` would have been called with for `use`."""
        named = {_SKILL_ARGUMENT.get(tool, "skill_name"): use.skill.name}
        if tool == self.tool:
            return {**self.arguments, **named}
        return {**named, "file_path": use.file_path} if tool == _READ else named


_REQUEST: ContextVar[_Request | None] = ContextVar("skillhub_hooks_of_request", default=None)


def _is_instructions(use: SkillUse) -> bool:
    """Whether the file that is read is the skill's SKILL.md, under any name or link."""
    instructions, asked = (os.path.join(use.skill.directory, path) for path in (SKILL_FILE, use.file_path))
    try:
        return os.path.samefile(instructions, asked)
    except OSError:
        # What cannot be looked at cannot be read either; its name tells what was meant.
        return os.path.basename(use.file_path) == SKILL_FILE


def _response(result: ToolResult) -> dict[str, object]:
    content = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in result.content]
    return {"isError": bool(result.is_error), "content": content}
