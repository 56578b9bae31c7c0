"""The registered tools: each set's functions with their names, descriptions and annotations, as `tools/list` has them.

The descriptions are written for a model, and each byte of them costs tokens in every conversation.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from fastmcp.tools.base import ToolResult
from fastmcp.tools.function_tool import FunctionTool
from mcp_types import Tool as WireTool
from mcp_types import ToolAnnotations

from skillhub_mcp.server.tools.results import RUN_SCHEMA, SEARCH_SCHEMA

if TYPE_CHECKING:
    from skillhub_mcp.server.tools.agents import AgentsTools
    from skillhub_mcp.server.tools.context import ContextTools
    from skillhub_mcp.server.tools.core import CoreTools
    from skillhub_mcp.server.tools.registry import RegistryTools
    from skillhub_mcp.server.tools.run import RunTool, SkillTool

# A host that loads tools only on demand always shows this one: without it no other tool would ever be called.
_ALWAYS_LOAD = {"anthropic/alwaysLoad": True}

_READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
# The second answer of these tools differs, because the session has had the first; nothing of the user's is written.
_STATEFUL = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
_RUNS_COMMANDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
)


def core_tools(tools: CoreTools) -> Sequence[FunctionTool]:
    return (
        _tool(
            tools.search_skills,
            "Search skills",
            "Find expert instructions (skills) for a task, not those built into your host. Call before any "
            "non-trivial task. Returns names, descriptions, score: the chance that the first fits. If one does, "
            "load_skill it; else go on.",
            output_schema=SEARCH_SCHEMA,
            meta=_ALWAYS_LOAD,
        ),
        _tool(
            tools.load_skill,
            "Load skill",
            "Call when a skill fits, or the person names one. Returns its `instructions`: follow them. Read files they "
            "name below `path` or with read_skill_file.",
        ),
        file_tool(tools),
    )


def file_tool(tools: CoreTools) -> FunctionTool:
    """Return the one tool of the set `core` that other sets need where clients do not share the disk."""
    return _tool(
        tools.read_skill_file,
        "Read skill file",
        "Call when a loaded skill names a file. Returns `content`, base64 if binary. Then go on.",
    )


def registry_tools(tools: RegistryTools, *, with_core: bool) -> Sequence[FunctionTool]:
    """Return the set `registry`. Its texts name tools of the set `core` only if that is offered too."""
    search = "; to find a skill for a task call search_skills" if with_core else ""
    load = " Load one with load_skill." if with_core else ""
    return (
        _tool(
            tools.build_index,
            "Build the skill index",
            f"Call to fill a registry of your own{search}. Reads every skill's "
            "frontmatter again. Returns {skills, report}: name, description, source, controls and meta of each skill, "
            "and what was found, refused and shadowed, with a digest. Next time call refresh_index.",
        ),
        _tool(
            tools.refresh_index,
            "Refresh the skill index",
            "Call when skills are new, changed or removed, with their paths as `changes` if known. Returns {skills, "
            "report}, as build_index does, to take the place of the old.",
        ),
        _tool(
            tools.available_skills,
            "Available skills",
            "Call to see which skills are available here, separate from those built into your host. Returns a line for "
            f"each: name, source, description.{load}",
        ),
    )


def agents_tools(tools: AgentsTools) -> Sequence[FunctionTool]:
    """Return the set `agents`. A client without the disk has one tool more, which reads for it."""
    here = _tool(
        tools.agents_context,
        "AGENTS.md here",
        "Get the AGENTS.md instructions of the project, from its root down to the working directory. Call once "
        "when a session begins: returns one text, the same for the whole session. Follow it; elsewhere call "
        "agents_resolve.",
        annotations=_STATEFUL,
    )
    resolve = _tool(
        tools.agents_resolve,
        "AGENTS.md for a path",
        "Call before you read or edit a file outside the directories that you have instructions for. Returns the "
        "paths of further AGENTS.md that apply to it, and nothing for what you know already. Read them "
        f"{'yourself' if tools.with_paths else 'with agents_read'}, then go on.",
        annotations=_STATEFUL,
    )
    resume = _tool(
        tools.agents_resume_diff,
        "What changed since",
        "Call when a session is resumed, with `resume`: the `session` that agents_context returned. "
        "Returns what has changed since, and what to read again before you go on.",
        annotations=_STATEFUL,
    )
    if tools.with_paths:
        return here, resolve, resume
    resolve.parameters["properties"]["path"]["description"] = "The file or directory, from the project's root"
    read = _tool(
        tools.agents_read,
        "Read AGENTS.md",
        "Call for a path that agents_context or agents_resolve named. Returns the text of that AGENTS.md: follow it "
        "below its directory, and go on.",
        annotations=_STATEFUL,
    )
    return here, resolve, resume, read


def context_tools(tools: ContextTools) -> Sequence[FunctionTool]:
    place = "path" if tools.with_paths else "id (as path)"
    return (
        _tool(
            tools.skills_list,
            "List skills",
            "List every skill of the project and of the user. Call to see all there is; to find one for a task call "
            "skill_search. Returns `skills`, and `errors` for what could not be read, in pages. Load one with "
            "skill_load.",
        ),
        _tool(
            tools.skill_search,
            "Search skills by name",
            "Find skills, which are separate from those built into your host, by path, name, the beginning of a name, "
            "or words. Call before a non-trivial task. Returns `skills`, best first, each with its `reason`. Load one "
            f"with skill_load, by its {place} where names repeat.",
        ),
        _tool(
            tools.skill_load,
            "Load skill by path",
            f"Call when a skill from skill_search fits, with its {place} or name; path wins. Returns its whole "
            "SKILL.md and the list of its files: follow it. What was loaded before and has not changed comes as a "
            "reminder: force=true gives it again.",
        ),
        _tool(
            tools.context_inspect,
            "Inspect the context",
            "Call to see where the context went. Returns what was loaded in this session, what there is to load, and "
            "what each costs in tokens. What is listed as loaded need not be loaded again.",
        ),
    )


def skill_tool(tool: SkillTool) -> FunctionTool:
    return _tool(
        tool.load,
        "Skill",
        "Load a skill to gain expert knowledge for a task. Call it as soon as the task fits a skill that this "
        "server's instructions list, which are separate from those built into your host, or when the person types "
        "/name. Returns its instructions: follow them. It adds no tool and runs nothing.",
        name="Skill",
    )


def run_tool(tool: RunTool) -> FunctionTool:
    return _tool(
        tool.run_skill_command,
        "Run skill command",
        "Run a command in a skill's directory, without a shell, such as python with scripts/x.py. Call only for "
        "what loaded instructions name. It has no network unless the person allowed it, and writes only below "
        "{output_dir}, as in --out={output_dir}/a.csv: the session's own, or the `output_dir` you name. Returns "
        "`stdout`, `stderr`, `exit_code` and the `files` it wrote: check them, then go on as instructed; cat "
        "{output_dir}/a.csv reads one. If you have a terminal, run it there below `path` instead.",
        annotations=_RUNS_COMMANDS,
        output_schema=RUN_SCHEMA,
    )


class _Tool(FunctionTool):
    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Run the tool; an optional argument that is null has its default, as if it were left out.

        Models fill arguments in with null, and a schema that allowed it would cost tokens in every conversation.
        """
        optional = self.parameters["properties"].keys() - self.parameters.get("required", ())
        given = {name: value for name, value in arguments.items() if value is not None or name not in optional}
        return await super().run(given)

    def to_mcp_tool(self, **overrides: Any) -> WireTool:
        """Return the tool without the metadata that FastMCP would add."""
        return super().to_mcp_tool(**{"_meta": self.meta, **overrides})


def _tool(
    function: Callable[..., ToolResult | Awaitable[ToolResult]],
    title: str,
    description: str,
    *,
    annotations: ToolAnnotations = _READ_ONLY,
    name: str | None = None,
    output_schema: dict[str, Any] | None = None,
    meta: dict[str, Any] | None = None,
) -> FunctionTool:
    """Return a tool with the function's name, unless another is given, and an answer of text unless it has a schema."""
    made = _Tool.from_function(
        function,
        name=name,
        title=title,
        description=description,
        annotations=annotations,
        output_schema=output_schema,
        meta=meta,
    )
    for argument in made.parameters["properties"].values():
        # An argument that is not required can be left out; a default of nothing, false or the minimum is plain.
        if argument.get("default", "stated") in (None, False, argument.get("minimum")):
            argument.pop("default")
    return made
