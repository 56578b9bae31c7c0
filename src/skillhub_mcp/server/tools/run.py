"""The opt-in tool that runs a skill's commands."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Annotated, Any

from anyio import CapacityLimiter
from fastmcp.tools.base import ToolResult
from mcp_types import TextContent
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from skillhub_mcp.errors import ExecutionTimeout, InvalidArgument
from skillhub_mcp.execution.command_policy import MAX_ARGUMENTS
from skillhub_mcp.execution.outputs import ARGUMENT as OUTPUT_ARGUMENT
from skillhub_mcp.execution.outputs import is_place
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.server.error_responses import ERROR_META_KEY, error_data, error_text
from skillhub_mcp.server.middleware.sessions import Sessions
from skillhub_mcp.server.progress import ProgressReporter, run_with_progress
from skillhub_mcp.server.tools.arguments import MAX_NAME_CHARACTERS, MAX_PATH_CHARACTERS, SkillName
from skillhub_mcp.server.tools.results import compact_json, run_result

# As many as all other calls have threads. A further command waits for one of them to end.
MAX_AT_ONCE = 40


@dataclass(frozen=True, slots=True)
class RunTool:
    """The tool of one hub, whose commands may run for `timeout_seconds`.

    Without `with_paths`, for clients elsewhere, no directory of this machine is named in either direction.
    """

    hub: SkillHub
    sessions: Sessions
    timeout_seconds: float
    with_paths: bool
    # A command has its thread for a minute: in those of all requests, a few clients' commands would stop every answer.
    _threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(MAX_AT_ONCE))

    async def run_skill_command(
        self,
        skill_name: SkillName,
        command: Annotated[str, Field(max_length=MAX_NAME_CHARACTERS, description="Bare name, e.g. python")],
        args: Annotated[list[str], Field(max_length=MAX_ARGUMENTS)] | SkipJsonSchema[None] = None,
        output_dir: Annotated[str, Field(min_length=1, max_length=MAX_PATH_CHARACTERS)] | SkipJsonSchema[None] = None,
    ) -> ToolResult:
        if output_dir is not None and not self.with_paths and is_place(output_dir):
            raise InvalidArgument(OUTPUT_ARGUMENT, "is no relative path", hint="name a directory such as 'reports'")
        stop, progress, granted = threading.Event(), ProgressReporter(), self.sessions.current().granted
        key = self.sessions.key()
        finished = await run_with_progress(
            lambda: self.hub.run_command(
                skill_name, command, args or [], granted=granted, stop=stop, session=key, output_dir=output_dir
            ),
            lambda: progress.report_time(self.timeout_seconds, command),
            stop=stop,
            threads=self._threads,
        )
        fields = run_result(finished, with_path=self.with_paths)
        made = self._made(command, fields, timed_out=finished.timeout)
        # To read the files later a client has to come back to this session.
        return self.sessions.with_handle(made) if finished.files else made

    def _made(self, command: str, fields: dict[str, Any], *, timed_out: bool) -> ToolResult:
        if not timed_out:
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
