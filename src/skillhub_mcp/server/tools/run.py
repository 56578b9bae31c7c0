"""The opt-in tool that runs a skill's command (seed 002 §3.5)."""

from __future__ import annotations

import threading
from typing import Annotated

from fastmcp import FastMCP
from fastmcp.tools.base import ToolResult
from mcp_types import TextContent, ToolAnnotations
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from skillhub_mcp.errors import ExecutionTimeout
from skillhub_mcp.execution.command_policy import MAX_ARGUMENTS
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.server.middleware.error_handling import ERROR_META_KEY, error_data, error_text
from skillhub_mcp.server.middleware.sessions import Sessions
from skillhub_mcp.server.progress import ProgressReporter, run_with_progress
from skillhub_mcp.server.tools.core import MAX_NAME_CHARACTERS, SkillName
from skillhub_mcp.server.tools.registration import offered
from skillhub_mcp.server.tools.results import RunResult, compact_json, run_result

_RUNS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True)
_RUN = (
    "Run a command in a skill's directory, without a shell, such as python with scripts/x.py. Call only for what "
    "loaded instructions name. Returns `stdout`, `stderr` and `exit_code`: check them, then go on as instructed. If "
    "you have a terminal, run it there below `path` instead."
)


def add_run_tool(server: FastMCP, hub: SkillHub, sessions: Sessions, *, timeout_seconds: float) -> None:
    """Register `run_skill_command`. Only for servers whose owner asked for it."""

    @offered(
        server,
        title="Run skill command",
        description=_RUN,
        annotations=_RUNS,
        output_schema=RunResult.model_json_schema(),
    )
    async def run_skill_command(
        skill_name: SkillName,
        command: Annotated[str, Field(max_length=MAX_NAME_CHARACTERS, description="Bare name, e.g. python")],
        args: Annotated[list[str], Field(max_length=MAX_ARGUMENTS)] | SkipJsonSchema[None] = None,
    ) -> ToolResult:
        stop, progress, granted = threading.Event(), ProgressReporter(), sessions.current().granted
        came_to = await run_with_progress(
            lambda: hub.run_command(skill_name, command, args or [], granted=granted, stop=stop),
            lambda: progress.tell_time(timeout_seconds, command),
            stop=stop,
        )
        result = run_result(came_to)
        wire = result.model_dump()
        if not result.timeout:
            return ToolResult(content=compact_json(wire), structured_content=wire)
        # Seed 002 wants both: `timeout: true` with what was printed, and the code EXECUTION_TIMEOUT.
        error = ExecutionTimeout(command, seconds=timeout_seconds)
        text = [error_text(error), compact_json(wire)]
        return ToolResult(
            content=[TextContent(type="text", text=part) for part in text],
            structured_content=wire,
            meta={ERROR_META_KEY: error_data(error)},
            is_error=True,
        )
