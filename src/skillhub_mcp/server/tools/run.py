"""The opt-in tools: `Skill` (set `skill`), and `run_skill_command`."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Annotated, Any

from anyio import CapacityLimiter
from fastmcp.tools.base import ToolResult
from mcp_types import TextContent
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from skillhub_mcp.disclosure.skill_loaded import render_skill_loaded, substitute_arguments
from skillhub_mcp.errors import ExecutionTimeout, InvalidArgument
from skillhub_mcp.execution.outputs import ARGUMENT as OUTPUT_ARGUMENT
from skillhub_mcp.execution.outputs import is_place
from skillhub_mcp.hub import LoadedSkill, SkillHub
from skillhub_mcp.sanitize import path_for_model
from skillhub_mcp.server.error_responses import ERROR_META_KEY, error_data, error_text
from skillhub_mcp.server.middleware.sessions import Sessions
from skillhub_mcp.server.progress import ProgressReporter, run_with_progress
from skillhub_mcp.server.tools.results import (
    MAX_NAME_CHARACTERS,
    MAX_PATH_CHARACTERS,
    SkillName,
    compact_json,
    run_result,
)
from skillhub_mcp.skills.discovery import skill_path
from skillhub_mcp.skills.model import is_skill_file

# As many as all other calls have threads. A further command waits for one of them to end.
MAX_AT_ONCE = 40
_MAX_ARGUMENTS = 256


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
        args: Annotated[list[str], Field(max_length=_MAX_ARGUMENTS)] | SkipJsonSchema[None] = None,
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


@dataclass(frozen=True, slots=True)
class SkillTool:
    """The tool of one hub. With `with_paths` the client shares the disk, and gets the directory of the files.

    `closing` is the sentence that ends the answer.
    """

    hub: SkillHub
    sessions: Sessions
    with_paths: bool
    closing: str

    def load(
        self,
        skill: Annotated[str, Field(max_length=MAX_NAME_CHARACTERS, description="Its name, such as pdf")],
        part: Annotated[int, Field(ge=1, description="For a body in parts: the next part")] = 1,
    ) -> ToolResult:
        session = self.sessions.current()
        name = skill.strip().removeprefix("/")
        loaded = self.hub.load(name, part=part, granted=session.granted)
        if part > 1:
            session.ledger.check_goes_on("skill", skill_path(loaded.skill), loaded.digest, argument="part", first=1)
        text = self._rendered(loaded, loaded.instructions, rest=_rest(loaded))
        session.ledger.record_skill(loaded.skill, text, part=part, parts=loaded.parts, digest=loaded.digest)
        return ToolResult(content=text)

    def text_for_person(self, name: str, arguments: str) -> str:
        """Return a skill's whole text for the person who invokes it. Raises what `SkillHub.load` raises."""
        session = self.sessions.current()
        first, body = self.hub.reader.load_whole(name, granted=session.granted)
        written, appended = substitute_arguments(body, arguments)
        text = self._rendered(first, written) + appended
        session.ledger.record_skill(first.skill, text)
        return text

    def _rendered(self, loaded: LoadedSkill, body: str, *, rest: str = "") -> str:
        files = self.hub.reader.list_files(loaded.skill)[0] if loaded.part == 1 else ()
        return render_skill_loaded(
            path_for_model(loaded.handle),
            body,
            files=[file.path for file in files if not is_skill_file(file.path)],
            directory=loaded.skill.directory if self.with_paths else "",
            rest=rest,
            closing=self.closing,
        )


def _rest(loaded: LoadedSkill) -> str:
    """Return which part this is, of which version, and how to go on; nothing for a whole body."""
    if loaded.parts == 1:
        return ""
    reported = f"part {loaded.part} of {loaded.parts}, digest {loaded.digest}"
    return f"{reported}; go on with part={loaded.part + 1}" if loaded.part < loaded.parts else reported
