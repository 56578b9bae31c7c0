"""The types of the agent-context tools: strict, with JSON Schemas."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from skillhub_mcp.disclosure.context.schema import (
    TYPES,
    SkillCatalog,
    SkillMetadata,
    SkillSearchResult,
)

SKILL: dict[str, Any] = {
    "id": "0123456789abcdef01234567",
    "name": "one",
    "description": "Does it.",
    "path": "/repo/.agents/skills/one/SKILL.md",
    "dir": "/repo/.agents/skills/one",
    "scope": "repo",
    "mtimeMs": 1.5,
}


@pytest.mark.acceptance("S0-5", "S0-7")
def test_every_type_has_a_closed_json_schema() -> None:
    schemas = {one.__name__: one.model_json_schema() for one in TYPES}
    assert {name: sorted(schema["properties"]) for name, schema in schemas.items()} == {
        "SkillMetadata": ["description", "dir", "id", "mtimeMs", "name", "path", "scope"],
        "SkillLoadError": ["message", "path"],
        "SkillCatalog": ["errors", "skills", "truncated"],
        "SkillSearchResult": ["reason", "score", "skill"],
        "SkillsListParams": ["cwd", "force_reload"],
        "SkillsListResult": ["errors", "skills"],
    }
    assert all(schema["additionalProperties"] is False for schema in schemas.values())


@pytest.mark.acceptance("S0-7")
@pytest.mark.parametrize(
    "changed",
    [
        {"id": "short"},
        {"name": ""},
        {"description": "x" * 1_025},
        {"scope": "hub"},
        {"mtimeMs": "1"},
        {"mtimeMs": -1.0},
        {"extra": 1},
        {"path": None},
    ],
)
def test_malformed_metadata_is_rejected(changed: dict[str, Any]) -> None:
    assert SkillMetadata.model_validate(SKILL).model_dump() == SKILL
    with pytest.raises(ValidationError):
        SkillMetadata.model_validate({**SKILL, **changed})


@pytest.mark.acceptance("S0-6", "S0-7")
def test_a_hit_has_a_known_reason_and_a_score_from_0_to_1() -> None:
    for reason in ("exact_path", "exact_name", "prefix", "token_overlap"):
        SkillSearchResult.model_validate({"skill": SKILL, "score": 1.0, "reason": reason})
    for wrong in ({"reason": "fuzzy"}, {"score": 1.1}, {"score": -0.1}):
        with pytest.raises(ValidationError):
            SkillSearchResult.model_validate({"skill": SKILL, "score": 1.0, "reason": "prefix", **wrong})


@pytest.mark.acceptance("S0-5")
def test_a_catalogue_has_exactly_three_fields() -> None:
    assert SkillCatalog(skills=(), errors=(), truncated=False).model_dump() == {
        "skills": (),
        "errors": (),
        "truncated": False,
    }
    with pytest.raises(ValidationError):
        SkillCatalog.model_validate({"skills": [], "errors": []})
