"""The types of the AGENTS.md tools, and their JSON Schemas."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from skillhub_mcp.agents_md.schema import (
    TYPES,
    AgentsConfig,
    AgentsFile,
    ResolvedAgents,
    SystemReminderType,
    read_config,
)
from skillhub_mcp.errors import InvalidSetting

WHOLE = {
    "enabled": True,
    "root": {"projectRootOverride": "/r", "markers": [".hg"], "stopAtFsRoot": False},
    "initial": {"maxFiles": 1, "maxBytes": 2},
    "resolver": {"enabled": False, "maxFilesPerResolve": 3},
}


@pytest.mark.acceptance("S1-1")
def test_every_key_of_the_configuration_is_optional() -> None:
    config = AgentsConfig.model_validate(WHOLE)
    assert config.model_dump(mode="json") == WHOLE
    assert AgentsConfig.model_validate({}) == AgentsConfig()
    assert (AgentsConfig().initial.maxFiles, AgentsConfig().initial.maxBytes) == (32, 32_768)


@pytest.mark.acceptance("S1-1", "S1-4")
@pytest.mark.parametrize(
    "written",
    [
        {"extra": 1},
        {"root": {"marker": []}},
        {"initial": {"maxFiles": 0}},
        {"initial": {"maxFiles": -1}},
        {"initial": {"maxFiles": 1.5}},
        {"initial": {"maxFiles": True}},
        {"initial": {"maxBytes": "10"}},
        {"resolver": {"maxFilesPerResolve": 0}},
        {"enabled": "yes"},
        {"root": {"markers": [1]}},
        {"root": None},
        [],
    ],
)
def test_a_malformed_configuration_is_rejected(written: Any) -> None:
    with pytest.raises(ValidationError):
        AgentsConfig.model_validate(written)


@pytest.mark.acceptance("S1-2")
def test_resolved_files_are_validated_strictly() -> None:
    file = {"path": "/r/AGENTS.md", "mtimeMs": 1, "sizeBytes": 2}
    assert ResolvedAgents.model_validate({"files": [file]}).model_dump(mode="json") == {"files": [file]}
    # Other hosts have fractions of milliseconds.
    assert AgentsFile.model_validate({**file, "mtimeMs": 1.5}) == AgentsFile.model_validate(file)
    for bad in (
        {"mtimeMs": -1},
        {"mtimeMs": -0.5},
        {"mtimeMs": float("nan")},
        {"mtimeMs": True},
        {"sizeBytes": -1},
        {"sizeBytes": 1.5},
        {"path": 1},
        {"body": "x"},
    ):
        with pytest.raises(ValidationError):
            AgentsFile.model_validate({**file, **bad})
    with pytest.raises(ValidationError):
        ResolvedAgents.model_validate({"files": [], "more": 1})


@pytest.mark.acceptance("S1-3", "S1-35")
def test_there_are_four_types_of_reminders() -> None:
    assert [one.value for one in SystemReminderType] == [
        "agents.resolve.paths",
        "session.resume.diff",
        "tool.output.trimmed",
        "permission.decision",
    ]


@pytest.mark.acceptance("S1-4")
def test_every_type_has_a_json_schema() -> None:
    schemas = {one.__name__: one.model_json_schema() for one in TYPES}
    assert all(schema["additionalProperties"] is False for schema in schemas.values())
    assert schemas["AgentsFile"]["properties"]["sizeBytes"] == {"minimum": 0, "title": "Sizebytes", "type": "integer"}


@pytest.mark.acceptance("S1-1", "S1-4")
def test_a_configuration_is_json_or_a_file(tmp_path: Any) -> None:
    path = tmp_path / "agents.json"
    path.write_text('{"initial": {"maxFiles": 3}}', encoding="utf-8")
    assert read_config(str(path)) == read_config('{"initial": {"maxFiles": 3}}')
    assert read_config("") == AgentsConfig()
    for written, reason in (
        ('{"initail": {}}', "initail: Extra inputs are not permitted"),
        ('{"initial": {"maxFiles": 0}}', "initial.maxFiles"),
        ("{", "Invalid JSON"),
        (str(tmp_path / "none.json"), "cannot be read"),
    ):
        with pytest.raises(InvalidSetting) as caught:
            read_config(written)
        assert reason in caught.value.message
    path.write_bytes(b"\xff")
    with pytest.raises(InvalidSetting, match="is not UTF-8"):
        read_config(str(path))
