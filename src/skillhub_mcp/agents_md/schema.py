"""The types of the AGENTS.md tools: configuration, results and a session's state."""

from __future__ import annotations

import math
import os
from enum import Enum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from skillhub_mcp.errors import InvalidSetting


def _whole(value: Any) -> Any:
    # A host in JavaScript has fractions.
    return math.floor(value) if isinstance(value, float) and math.isfinite(value) else value


Positive = Annotated[int, Field(gt=0)]
Milliseconds = Annotated[int, BeforeValidator(_whole), Field(ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class RootConfig(_Strict):
    """How the project's root is found. If `stopAtFsRoot` is false, the file system's root is never a project's root."""

    projectRootOverride: str | None = None  # noqa: N815 - the name in the JSON format
    markers: Annotated[tuple[str, ...], Field(strict=False)] | None = None
    stopAtFsRoot: bool = True  # noqa: N815 - the name in the JSON format


class InitialConfig(_Strict):
    """The limits of the initial load: the number of files, and the bytes of UTF-8 of all texts together."""

    maxFiles: Positive = 32  # noqa: N815 - the name in the JSON format
    maxBytes: Positive = 32_768  # noqa: N815 - the name in the JSON format


class ResolverConfig(_Strict):
    """Whether further paths are resolved, and how many files one call returns at most."""

    enabled: bool = True
    maxFilesPerResolve: Positive = 8  # noqa: N815 - the name in the JSON format


class AgentsConfig(_Strict):
    """The whole configuration, with its defaults."""

    enabled: bool = True
    root: RootConfig = RootConfig()
    initial: InitialConfig = InitialConfig()
    resolver: ResolverConfig = ResolverConfig()


class AgentsFile(_Strict):
    """One AGENTS.md: its canonical path, its mtime in milliseconds and its size in bytes."""

    path: str
    mtimeMs: Milliseconds  # noqa: N815 - the name in the JSON format
    sizeBytes: Annotated[int, Field(ge=0)]  # noqa: N815 - the name in the JSON format

    @property
    def directory(self) -> str:
        """The directory whose AGENTS.md it is."""
        return os.path.dirname(self.path)


class ResolvedAgents(_Strict):
    """The files that apply to a path and that the session does not know yet."""

    files: Annotated[tuple[AgentsFile, ...], Field(strict=False)] = ()


class SystemReminderType(str, Enum):
    """The type of a `<system-reminder>`. PERMISSION_DECISION is reserved."""

    AGENTS_RESOLVE_PATHS = "agents.resolve.paths"
    SESSION_RESUME_DIFF = "session.resume.diff"
    TOOL_OUTPUT_TRIMMED = "tool.output.trimmed"
    PERMISSION_DECISION = "permission.decision"


class AgentsState(_Strict):
    """The state of a session, which a host saves to resume it: mtimes by path."""

    cwd: str
    root: str
    markers: Annotated[tuple[str, ...], Field(strict=False)]
    covered: Annotated[tuple[str, ...], Field(strict=False)] = ()
    loaded: dict[str, Milliseconds] = {}


TYPES: tuple[type[_Strict], ...] = (AgentsConfig, AgentsFile, ResolvedAgents, AgentsState)


SETTING = "SKILLHUB_AGENTS_CONFIG"

_MAX_BYTES = 1024 * 1024


def read_config(written: str) -> AgentsConfig:
    """Return the configuration from JSON text or from a JSON file. Raises InvalidSetting."""
    if not written:
        return AgentsConfig()
    try:
        return AgentsConfig.model_validate_json(written if written.startswith("{") else _file(written))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        reason = f"{place}: {first['msg']}" if place else first["msg"]
        raise InvalidSetting(SETTING, written, f"cannot be used: {reason}") from error


def _file(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read(_MAX_BYTES)
    except OSError as error:
        raise InvalidSetting(SETTING, path, f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InvalidSetting(SETTING, path, "is not UTF-8") from error
