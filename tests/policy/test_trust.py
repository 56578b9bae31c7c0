"""The record of trusted projects."""

from __future__ import annotations

import pytest

from skillhub_mcp._util.safe_json import BadJson
from skillhub_mcp.policy.trust import NO_AGREEMENT, TRUST_FORMAT

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
        '{"format": 1, "projects": []}',
        '{"format": 1, "projects": {"/repo": []}}',
        '{"format": 1, "projects": {"/repo": {"/repo/a": true}}}',
        '{"format": 1, "projects": {"/repo": {"/repo/a": "yes"}}}',
        '{"format": 1, "projects": {"repo": {}}}',
        '{"format": 1, "projects": {"/repo": {"a": "sha256:1"}}}',
    ],
)
def test_an_invalid_trust_record_is_rejected(text: str) -> None:
    with pytest.raises(BadJson):
        TRUST_FORMAT.parse(text)
