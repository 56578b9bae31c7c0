"""The lock state of a loaded skill, in the metadata for hosts."""

from __future__ import annotations

from typing import Any

import pytest

from skillhub_mcp.locks.file_digests import LockState
from skillhub_mcp.locks.lock_file import LockedByHub, LockedSkill
from skillhub_mcp.locks.lock_verifier import LockStanding
from skillhub_mcp.server.tools.results import LOCK_META_KEY, lock_meta

DIGEST = "sha256:" + "a" * 64


def reported(standing: LockStanding, *, with_paths: bool = False) -> Any:
    meta = lock_meta(standing, with_paths=with_paths)
    assert meta is not None
    return meta[LOCK_META_KEY]


def test_source_commit_digest_signer_and_state_are_reported_and_sanitized() -> None:
    ours = LockedByHub(DIGEST, commit="c" * 40, signer="SHA256:k", principal="ann@example.org")
    locked = LockedSkill("pdf", "o/r\u202e\x1b[2J", "github", ref="v1", ours=ours)
    found = reported(LockStanding(LockState.UNCHANGED, locked))
    assert not {"\u202e", "\x1b"} & set(found.pop("source"))
    assert found == {
        "state": "unchanged",
        "ref": "v1",
        "commit": "c" * 40,
        "digest": DIGEST,
        "signer": "ann@example.org",
        "file": None,
    }


@pytest.mark.parametrize("source", ["/home/ann/pdf", "./pdf", "~/pdf", "file:///home/ann/pdf", "C:\\ann", "C:/ann"])
def test_a_client_without_the_disk_gets_no_path(source: str) -> None:
    for ours in (LockedByHub(DIGEST), None):
        standing = LockStanding(LockState.UNLOCKED, LockedSkill("pdf", source, "local", ours=ours))
        assert reported(standing, with_paths=True)["source"] == source
        assert reported(standing)["source"] is None
