"""Seed 000's types, declared once: what its tools take and give, and the JSON Schema of each (§4, §7, §10)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

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
    mtimeMs: Annotated[float, Field(ge=0)]  # noqa: N815 - the seed's name


def source_of(skill: SkillMetadata) -> str:
    """Return whose skill it is, in the words of the hub (DECISIONS 7)."""
    return "project" if skill.scope == "repo" else "user"


class SkillLoadError(_Strict):
    """A SKILL.md that is left out, and why."""

    path: str
    message: str


class SkillCatalog(_Strict):
    """What a session begins with: the skills within its bounds, the errors, and whether anything was cut."""

    skills: tuple[SkillMetadata, ...]
    errors: tuple[SkillLoadError, ...]
    truncated: bool


class SkillSearchResult(_Strict):
    """One hit. Scores fall within 0..1: 1 for a path, .9 for a name, .6 to .8 for a prefix, below for shared words."""

    skill: SkillMetadata
    score: Annotated[float, Field(ge=0, le=1)]
    reason: SearchReason


class SkillsListParams(_Strict):
    """What `skills_list` takes."""

    cwd: str | None = None
    force_reload: bool = False


class SkillsListResult(_Strict):
    """What `skills_list` gives: every skill, and every error."""

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


def json_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of each type, by its name."""
    return {one.__name__: one.model_json_schema() for one in TYPES}
