"""The lock of a library, shared with npx skills."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from docs.lock_fields import STANDING_FIELDS, field_meanings

from skillhub_mcp.errors import LockUnreadable
from skillhub_mcp.locks.file_digests import Differences, LockState
from skillhub_mcp.locks.lock_file import Lock, LockedByHub, LockedSkill, lock_text, parse_lock, read_lock, read_plain
from skillhub_mcp.locks.lock_verifier import LockStanding

PATH = "/project/skills-lock.json"
DIGEST = "sha256:" + "a" * 64
# As npx skills 1.7.4 wrote it, byte for byte.
OF_NPX = """{
  "version": 1,
  "skills": {
    "pdf": {
      "source": "../skills",
      "sourceType": "local",
      "computedHash": "82f19d39a11cbba2d538155feb8995d609f2b62db277f059865939fa38b4d30b"
    }
  }
}
"""
OURS = LockedByHub(
    DIGEST,
    commit="c" * 40,
    executable=("scripts/b.sh", "scripts/a.sh"),
    fetched="2026-11-22T22:40:00Z",
    signer="SHA256:abc",
    findings={"AUD104": DIGEST},
    installed_by="skillhub 1.0",
)


def test_a_lock_of_npx_skills_is_written_back_byte_for_byte() -> None:
    assert lock_text(parse_lock(OF_NPX, PATH)) == OF_NPX


def test_an_entry_has_the_fields_of_npx_skills_in_order_and_the_skillhub_object() -> None:
    skill = LockedSkill("pdf", "o/r", "github", "b" * 64, ref="v1", skill_path="skills/pdf/SKILL.md", ours=OURS)
    entry = json.loads(lock_text(Lock(PATH, skills=(skill,))))["skills"]["pdf"]
    assert list(entry) == ["source", "ref", "sourceType", "skillPath", "computedHash", "skillhub"]
    assert list(entry["skillhub"]) == [
        "digest", "commit", "executable", "fetched", "signer", "findings", "installed_by",
    ]  # fmt: skip
    assert entry["skillhub"]["executable"] == ["scripts/a.sh", "scripts/b.sh"]


def test_a_lock_reads_back_as_it_was_written() -> None:
    skill = LockedSkill("pdf", "o/r", "github", "b" * 64, ours=replace(OURS, executable=("a",)))
    assert parse_lock(lock_text(Lock(PATH, skills=(skill,))), PATH) == Lock(PATH, skills=(skill,))


def test_unknown_fields_keep_their_places() -> None:
    text = json.dumps(
        {
            "version": 1,
            "skills": {
                "a": {"later": [1], "source": "x", "sourceType": "local", "skillhub": {"digest": DIGEST, "new": 1}}
            },
            "more": {"kept": None},
        }
    )
    lock = parse_lock(text, PATH)
    (skill,) = lock.skills
    assert skill.ours is not None
    changed = lock.having(replace(skill, source="y", ours=replace(skill.ours, commit="d" * 40)))
    whole = json.loads(lock_text(changed))
    assert list(whole["skills"]["a"].items()) == [
        ("later", [1]),
        ("source", "y"),
        ("sourceType", "local"),
        ("skillhub", {"digest": DIGEST, "new": 1, "commit": "d" * 40}),
    ]
    assert whole["more"] == {"kept": None}


def test_an_unpaired_surrogate_is_escaped_as_in_javascript() -> None:
    text = OF_NPX.replace("../skills", "\\ud83d")
    assert lock_text(parse_lock(text, PATH)) == text


def test_entries_are_added_and_removed_by_name() -> None:
    one, two = LockedSkill("a", "s", "local"), LockedSkill("b", "s", "local")
    lock = Lock(PATH, skills=(one,)).having(two, replace(one, source="t"))
    assert [(skill.name, skill.source) for skill in lock.skills] == [("b", "s"), ("a", "t")]
    assert lock.without({"b"}).find("b") is None
    assert lock.find("a") == replace(one, source="t")


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (OF_NPX[:80], 6, "is not JSON"),
        ("", 1, "is not JSON"),
        (OF_NPX.replace('    "pdf"', '<<<<<<< HEAD\n    "pdf"'), 4, "markers of a merge"),
        (OF_NPX.replace('  "skills": {', '=======\n  "skills": {'), 3, "markers of a merge"),
        ("[" * 100_000, None, "nested too deeply"),
        ("[]", None, "no object of skills"),
        ('{"version": 1}', None, "no object of skills"),
        ('{"skills": {}}', None, "its version is None"),
        ('{"version": true, "skills": {}}', None, "its version is True"),
        ('{"version": 0, "skills": {}}', None, "its version is 0"),
        ('{"version": 2, "skills": {}}', None, "its version is 2"),
        ('{"version": 1, "skills": {\n"a": {},\n"a": {}}}', None, "the key 'a' appears twice"),
        ('{"version": 1, "skills": {\n"a": []}}', 2, "'a' is not an object"),
        ('{"version": 1, "skills": {"a": {"source": 1}}}', 1, "invalid 'source': Value error, should be a text"),
        ('{"version": 1, "skills": {"a": {"skillhub": []}}}', 1, "invalid 'skillhub': Input should be a dictionary"),
        (
            '{"version": 1, "skills": {"a": {"skillhub": {"digest": "x"}}}}',
            1,
            "'skillhub.digest': String should match pattern",
        ),
        (f'{{"version": 1, "skills": {{"a": {{"skillhub": {{"digest": "{DIGEST}", "commit": "-x"}}}}}}}}', 1, "commit"),
        (f'{{"version": 1, "skills": {{"a": {{"skillhub": {{"digest": "{DIGEST}", "executable": 1}}}}}}}}', 1, "tuple"),
        (f'{{"version": 1, "skills": {{"a": {{"skillhub": {{"digest": "{DIGEST}", "findings": 1}}}}}}}}', 1, "dict"),
    ],
)
def test_a_lock_that_cannot_be_read_is_refused_with_its_line(text: str, line: int | None, reason: str) -> None:
    with pytest.raises(LockUnreadable) as caught:
        parse_lock(text, PATH)
    assert caught.value.facts["line"] == line
    assert reason in caught.value.message
    assert caught.value.hint


needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")


@needs_pipes
def test_a_lock_linked_to_a_pipe_is_refused_without_blocking(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "skills-lock.json").symlink_to(tmp_path / "pipe")
    with pytest.raises(LockUnreadable, match="not a regular file"):
        read_lock(str(tmp_path / "skills-lock.json"))


def test_an_endless_file_is_not_read_into_memory(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b" " * 11)
    with pytest.raises(OSError, match="more than 10 bytes"):
        read_plain(str(file), max_bytes=10)
    assert read_plain(str(file), max_bytes=11) == b" " * 11


def test_every_reported_field_of_a_lock_is_documented() -> None:
    problem = LockUnreadable("skills-lock.json", "it is torn")
    locked = LockedSkill("a", "o/r", "github", ours=LockedByHub(DIGEST))
    whole = LockStanding(LockState.EDITED, locked, differs=Differences(line_ends=True), problem=problem).facts()
    foreign = LockStanding(LockState.UNLOCKED, LockedSkill("pdf", "o/r")).facts()
    assert {*whole, *foreign} == STANDING_FIELDS.keys()


@pytest.mark.parametrize("name", field_meanings()[1])
def test_a_field_of_the_wrong_type_is_refused(name: str) -> None:
    fields = {"digest": f'"{DIGEST}"', name: "1"}
    ours = ", ".join(f'"{key}": {value}' for key, value in fields.items())
    with pytest.raises(LockUnreadable, match=name):
        parse_lock(f'{{"version": 1, "skills": {{"a": {{"skillhub": {{{ours}}}}}}}}}', "skills-lock.json")
