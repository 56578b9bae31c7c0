"""Seed 001's types, declared once: its configuration, what a resolve returns, and a session's state (§0.5)."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[int, Field(gt=0)]
Milliseconds = Annotated[int, Field(ge=0)]


class _Strict(BaseModel):
    # The seed's own schema refuses unknown keys at its top and drops them in silence below; a misspelt limit that is
    # dropped is a limit lost, so they are refused at every level.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class RootConfig(_Strict):
    """How the project's root is found. `stopAtFsRoot` false keeps the file system's own root from being one."""

    projectRootOverride: str | None = None  # noqa: N815 - the seed's name
    markers: Annotated[tuple[str, ...], Field(strict=False)] | None = None
    stopAtFsRoot: bool = True  # noqa: N815 - the seed's name


class InitialConfig(_Strict):
    """How much a session begins with: files, and bytes of UTF-8 of all their texts together."""

    maxFiles: Positive = 32  # noqa: N815 - the seed's name
    maxBytes: Positive = 32_768  # noqa: N815 - the seed's name


class ResolverConfig(_Strict):
    """Whether further paths are resolved, and how many files one call returns."""

    enabled: bool = True
    maxFilesPerResolve: Positive = 8  # noqa: N815 - the seed's name


class AgentsConfig(_Strict):
    """The whole configuration; without any, its defaults."""

    enabled: bool = True
    root: RootConfig = RootConfig()
    initial: InitialConfig = InitialConfig()
    resolver: ResolverConfig = ResolverConfig()


class AgentsFile(_Strict):
    """One AGENTS.md: its canonical path, its mtime in milliseconds and its size in bytes."""

    path: str
    mtimeMs: Milliseconds  # noqa: N815 - the seed's name
    sizeBytes: Annotated[int, Field(ge=0)]  # noqa: N815 - the seed's name


class ResolvedAgents(_Strict):
    """What applies to a path besides what is known already."""

    files: Annotated[tuple[AgentsFile, ...], Field(strict=False)] = ()


class SystemReminderType(str, Enum):
    """What a `<system-reminder>` is about. The last two are planned by the seed, which says no more of them."""

    AGENTS_RESOLVE_PATHS = "agents.resolve.paths"
    SESSION_RESUME_DIFF = "session.resume.diff"
    TOOL_OUTPUT_TRIMMED = "tool.output.trimmed"
    PERMISSION_DECISION = "permission.decision"


class AgentsState(_Strict):
    """What one session knows: where it is, the directories it has instructions for, and the versions it has seen.

    `loaded` maps paths to mtimes in milliseconds. A host keeps the state and gives it back when a session resumes.
    """

    cwd: str
    root: str
    markers: Annotated[tuple[str, ...], Field(strict=False)]
    covered: Annotated[tuple[str, ...], Field(strict=False)] = ()
    loaded: dict[str, Milliseconds] = {}


TYPES: tuple[type[_Strict], ...] = (AgentsConfig, AgentsFile, ResolvedAgents, AgentsState)


def json_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of each type, by its name."""
    return {one.__name__: one.model_json_schema() for one in TYPES}
