"""The types of the agent-context tools: their parameters and results, and the JSON Schema of each."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

SkillScope = Literal["repo", "user"]
SearchReason = Literal["exact_path", "exact_name", "prefix", "token_overlap"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class SkillMetadata(_Strict):
    """One skill. `path` is its SKILL.md and `dir` its directory, both absolute; `mtimeMs` is in milliseconds."""

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{24}$")]
    name: Annotated[str, Field(min_length=1, max_length=64)]
    description: Annotated[str, Field(min_length=1, max_length=1_024)]
    path: str
    dir: str
    scope: SkillScope
    mtimeMs: Annotated[float, Field(ge=0)]  # noqa: N815 - the specified name


def scope_source(skill: SkillMetadata) -> str:
    """Return the hub's source for the skill's scope: `project` for `repo`, else `user`."""
    return "project" if skill.scope == "repo" else "user"


class SkillLoadError(_Strict):
    """A SKILL.md that is left out, and why."""

    path: str
    message: str


class SkillCatalog(_Strict):
    """The catalogue at the start of a session: the skills within its limits, the errors, and whether it was cut."""

    skills: tuple[SkillMetadata, ...]
    errors: tuple[SkillLoadError, ...]
    truncated: bool


class SkillSearchResult(_Strict):
    """One hit. Scores are in 0..1: 1 for a path, .9 for a name, .6 to .8 for a prefix, .1 to .5 for shared words."""

    skill: SkillMetadata
    score: Annotated[float, Field(ge=0, le=1)]
    reason: SearchReason


class SkillsListParams(_Strict):
    """The parameters of `skills_list`."""

    cwd: str | None = None
    force_reload: bool = False


class SkillsListResult(_Strict):
    """The result of `skills_list`: all skills and all errors."""

    skills: tuple[SkillMetadata, ...]
    errors: tuple[SkillLoadError, ...]


TYPES: tuple[type[_Strict], ...] = (
    SkillMetadata,
    SkillLoadError,
    SkillCatalog,
    SkillSearchResult,
    SkillsListParams,
    SkillsListResult,
)
