"""The record of trusted projects."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from skillhub_mcp._util.safe_json import BadJson
from skillhub_mcp.errors import PolicyUnreadable
from skillhub_mcp.policy.files import TRUST
from skillhub_mcp.policy.trust import NO_AGREEMENT, TRUST_FORMAT, TrustRecord

ONE, OTHER = "sha256:" + "1" * 64, "sha256:" + "2" * 64


def test_trust_is_for_one_directory_with_one_digest() -> None:
    record = NO_AGREEMENT.agreed("/repo", {"/repo/.agents/skills": ONE})
    assert record.digest("/repo", "/repo/.agents/skills") == ONE
    assert record.digest("/repo", "/repo/web/.agents/skills") is None
    # Another clone is another project.
    assert record.digest("/clone", "/clone/.agents/skills") is None


def test_agreements_accumulate_until_revoked() -> None:
    record = NO_AGREEMENT.agreed("/repo", {"/repo/a": ONE}).agreed("/repo", {"/repo/b": ONE, "/repo/a": OTHER})
    record = record.agreed("/other", {"/other/a": ONE})
    assert record.projects == {"/repo": {"/repo/a": OTHER, "/repo/b": ONE}, "/other": {"/other/a": ONE}}
    assert record.revoked(["/repo"]).projects == {"/other": {"/other/a": ONE}}
    assert TRUST_FORMAT.parse(TRUST_FORMAT.text(record)) == record


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
def test_an_invalid_trust_record_is_rejected(text: str) -> None:
    with pytest.raises(BadJson):
        TRUST_FORMAT.parse(text)


def test_the_trust_file_is_private_and_read_again_after_a_change(tmp_path: Path) -> None:
    path = tmp_path / "new" / "trust.json"
    TRUST.change(str(path), lambda record: record.agreed("/repo", {"/repo/a": ONE}))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    file = TRUST.file(str(path))
    before = file.read()
    assert file.read() is before
    TRUST.change(str(path), lambda record: record.agreed("/other", {"/other/a": ONE}))
    assert isinstance(now := file.read(), TrustRecord)
    assert set(now.projects) == {"/repo", "/other"}
    path.write_text("{", encoding="utf-8")
    with pytest.raises(PolicyUnreadable, match=r"Your trust\.json cannot be used"):
        TRUST.change(str(path), lambda record: record)
    assert path.read_text(encoding="utf-8") == "{"
