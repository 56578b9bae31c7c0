"""The description of the lock's fields."""

from __future__ import annotations

import pytest

from skillhub_mcp.errors import LockUnreadable
from skillhub_mcp.locks.foreign import Provenance
from skillhub_mcp.locks.lock_file import HUB_FIELDS, NPX_FIELDS, LockedByHub, LockedSkill, parse_lock
from skillhub_mcp.locks.lock_schema import HUB_FIELDS_TOLD, NPX_FIELDS_TOLD, TOLD, json_schema
from skillhub_mcp.locks.lock_verifier import LockStanding
from skillhub_mcp.locks.states import Differences, LockState


def test_every_field_that_is_written_is_told_in_its_order() -> None:
    assert [one.name for one in NPX_FIELDS_TOLD] == list(NPX_FIELDS.values())
    assert [one.name for one in HUB_FIELDS_TOLD] == list(HUB_FIELDS)


def test_every_field_that_is_told_of_a_skill_is_documented() -> None:
    digest = "sha256:" + "a" * 64
    problem = LockUnreadable("skills-lock.json", "it is torn")
    locked = LockedSkill("a", "o/r", "github", ours=LockedByHub(digest))
    whole = LockStanding(LockState.EDITED, locked, differs=Differences(line_ends=True), problem=problem).told()
    foreign = LockStanding(LockState.UNLOCKED, provenance=Provenance("o/r", by="gh skill")).told()
    assert {*whole, *foreign} == TOLD.keys()


@pytest.mark.parametrize("field", HUB_FIELDS_TOLD, ids=lambda field: field.name)
def test_what_the_schema_refuses_is_refused(field: object) -> None:
    name = getattr(field, "name", "")
    text = f'{{"version": 1, "skills": {{"a": {{"skillhub": {{"digest": "sha256:{"a" * 64}", "{name}": 1}}}}}}}}'
    with pytest.raises(LockUnreadable):
        parse_lock(text.replace(f'"digest": "sha256:{"a" * 64}", "digest"', '"digest"'), "skills-lock.json")
    entry = json_schema()["properties"]["skills"]["additionalProperties"]["properties"]
    assert entry["skillhub"]["properties"][name]["type"] in ("string", "array", "object")
