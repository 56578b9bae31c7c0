"""The JSON Schema of a lock and the documentation of its fields."""

from __future__ import annotations

import pytest

from skillhub_mcp.errors import LockUnreadable
from skillhub_mcp.locks.file_digests import Differences, LockState
from skillhub_mcp.locks.lock_file import STANDING_FIELDS, LockedByHub, LockedSkill, field_meanings, parse_lock
from skillhub_mcp.locks.lock_verifier import LockStanding

DIGEST = "sha256:" + "a" * 64


def test_every_field_that_is_reported_of_a_skill_is_documented() -> None:
    problem = LockUnreadable("skills-lock.json", "it is torn")
    locked = LockedSkill("a", "o/r", "github", ours=LockedByHub(DIGEST))
    whole = LockStanding(LockState.EDITED, locked, differs=Differences(line_ends=True), problem=problem).facts()
    foreign = LockStanding(LockState.UNLOCKED, LockedSkill("pdf", "o/r")).facts()
    assert {*whole, *foreign} == STANDING_FIELDS.keys()


@pytest.mark.parametrize("name", field_meanings()[1])
def test_a_field_of_another_type_is_refused(name: str) -> None:
    fields = {"digest": f'"{DIGEST}"', name: "1"}
    ours = ", ".join(f'"{key}": {value}' for key, value in fields.items())
    with pytest.raises(LockUnreadable, match=name):
        parse_lock(f'{{"version": 1, "skills": {{"a": {{"skillhub": {{{ours}}}}}}}}}', "skills-lock.json")
