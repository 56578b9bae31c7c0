"""The record of the projects that a person agreed to."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from skillhub_mcp._util.safe_json import BadJson
from skillhub_mcp.errors import TrustUnreadable
from skillhub_mcp.policy.files import change_trust, trust_file
from skillhub_mcp.policy.trust import NO_AGREEMENT, TrustRecord, parse_trust, trust_text
from skillhub_mcp.skills.model import Trust

ONE, OTHER = "sha256:" + "1" * 64, "sha256:" + "2" * 64


def test_a_place_is_trusted_as_it_was_and_no_other_with_it() -> None:
    record = NO_AGREEMENT.agreed("/repo", {"/repo/.agents/skills": ONE})
    assert record.judge("/repo", "/repo/.agents/skills", ONE) is Trust.AGREED
    assert record.judge("/repo", "/repo/.agents/skills", OTHER) is Trust.CHANGED
    assert record.judge("/repo", "/repo/.agents/skills", None) is Trust.CHANGED
    assert record.judge("/repo", "/repo/web/.agents/skills", ONE) is Trust.AWAITED
    # The same files in another clone are another project's.
    assert record.judge("/clone", "/clone/.agents/skills", ONE) is Trust.AWAITED


def test_what_is_agreed_to_later_and_elsewhere_is_added_and_what_is_revoked_is_gone() -> None:
    record = NO_AGREEMENT.agreed("/repo", {"/repo/a": ONE}).agreed("/repo", {"/repo/b": ONE, "/repo/a": OTHER})
    record = record.agreed("/other", {"/other/a": ONE})
    assert record.projects == {"/repo": {"/repo/a": OTHER, "/repo/b": ONE}, "/other": {"/other/a": ONE}}
    assert record.revoked(["/repo"]).projects == {"/other": {"/other/a": ONE}}
    assert parse_trust(trust_text(record)) == record


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        '{"format": 2}',
        '{"format": 1, "projects": []}',
        '{"format": 1, "projects": {"/repo": []}}',
        '{"format": 1, "projects": {"/repo": {"/repo/a": true}}}',
        '{"format": 1, "projects": {"/repo": {"/repo/a": "yes"}}}',
        '{"format": 1, "projects": {"repo": {}}}',
        '{"format": 1, "projects": {"/repo": {"a": "sha256:1"}}}',
        "[" * 100_000,
    ],
)
def test_a_record_that_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(BadJson):
        parse_trust(text)


def test_the_file_is_its_owners_alone_and_keeps_what_else_it_held(tmp_path: Path) -> None:
    path = tmp_path / "new" / "trust.json"
    change_trust(str(path), lambda record: record.agreed("/repo", {"/repo/a": ONE}))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content = json.loads(path.read_text(encoding="utf-8")) | {"note": "mine"}
    path.write_text(json.dumps(content), encoding="utf-8")
    file = trust_file(str(path))
    before = file.read()
    assert file.read() is before
    change_trust(str(path), lambda record: record.agreed("/other", {"/other/a": ONE}))
    assert json.loads(path.read_text(encoding="utf-8"))["note"] == "mine"
    assert isinstance(now := file.read(), TrustRecord)
    assert set(now.projects) == {"/repo", "/other"}
    path.write_text("{", encoding="utf-8")
    with pytest.raises(TrustUnreadable, match=r"Your trust\.json cannot be used"):
        change_trust(str(path), lambda record: record)
    assert path.read_text(encoding="utf-8") == "{"
