"""The opt-in tool that runs a skill's commands."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Annotated

from fastmcp.tools.base import ToolResult
from mcp_types import TextContent
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from skillhub_mcp.errors import ExecutionTimeout
from skillhub_mcp.execution.command_policy import MAX_ARGUMENTS
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.server.error_responses import ERROR_META_KEY, error_data, error_text
from skillhub_mcp.server.middleware.sessions import Sessions
from skillhub_mcp.server.progress import ProgressReporter, run_with_progress
from skillhub_mcp.server.tools.arguments import MAX_NAME_CHARACTERS, SkillName
from skillhub_mcp.server.tools.results import compact_json, run_result


@dataclass(frozen=True, slots=True)
class RunTool:
    """The tool of one hub, whose commands may run for `timeout_seconds`."""

    hub: SkillHub
    sessions: Sessions
    timeout_seconds: float

    async def run_skill_command(
        self,
        skill_name: SkillName,
        command: Annotated[str, Field(max_length=MAX_NAME_CHARACTERS, description="Bare name, e.g. python")],
        args: Annotated[list[str], Field(max_length=MAX_ARGUMENTS)] | SkipJsonSchema[None] = None,
    ) -> ToolResult:
        stop, progress, granted = threading.Event(), ProgressReporter(), self.sessions.current().granted
        finished = await run_with_progress(
            lambda: self.hub.run_command(skill_name, command, args or [], granted=granted, stop=stop),
            lambda: progress.report_time(self.timeout_seconds, command),
            stop=stop,
        )
        result = run_result(finished)
        fields = result.model_dump()
        if not result.timeout:
            return ToolResult(content=compact_json(fields), structured_content=fields)
        # A timeout is both a result, with what was printed, and the error EXECUTION_TIMEOUT.
        error = ExecutionTimeout(command, seconds=self.timeout_seconds)
        texts = [error_text(error), compact_json(fields)]
        return ToolResult(
            content=[TextContent(type="text", text=text) for text in texts],
            structured_content=fields,
            meta={ERROR_META_KEY: error_data(error)},
            is_error=True,
        )
