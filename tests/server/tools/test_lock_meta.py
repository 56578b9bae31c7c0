"""The lock state of a loaded skill, in the metadata for hosts."""

from __future__ import annotations

import pytest

from skillhub_mcp.locks.file_digests import LockState
from skillhub_mcp.locks.lock_file import LockedByHub, LockedSkill
from skillhub_mcp.locks.lock_verifier import LockStanding
from skillhub_mcp.server.tools.results import LOCK_META_KEY, lock_meta

DIGEST = "sha256:" + "a" * 64


def reported(standing: LockStanding, *, with_paths: bool) -> dict[str, object]:
    meta = lock_meta(standing, with_paths=with_paths)
    assert meta is not None
    found = meta[LOCK_META_KEY]
    assert isinstance(found, dict)
    return found


def test_source_commit_digest_signer_and_state_are_reported() -> None:
    ours = LockedByHub(DIGEST, commit="c" * 40, signer="SHA256:k", principal="ann@example.org")
    locked = LockedSkill("pdf", "o/r", "github", ref="v1", ours=ours)
    assert reported(LockStanding(LockState.UNCHANGED, locked), with_paths=False) == {
        "state": "unchanged",
        "source": "o/r",
        "ref": "v1",
        "commit": "c" * 40,
        "digest": DIGEST,
        "signer": "ann@example.org",
        "file": None,
    }


def test_text_of_a_lock_is_sanitized() -> None:
    standing = LockStanding(LockState.UNLOCKED, LockedSkill("pdf", "o/r\u202e\x1b[2J"))
    assert not {"\u202e", "\x1b"} & set(str(reported(standing, with_paths=False)["source"]))


@pytest.mark.parametrize("source", ["/home/ann/pdf", "./pdf", "~/pdf", "file:///home/ann/pdf", "C:\\ann", "C:/ann"])
def test_a_client_without_the_disk_gets_no_path(source: str) -> None:
    for ours in (LockedByHub(DIGEST), None):
        standing = LockStanding(LockState.UNLOCKED, LockedSkill("pdf", source, "local", ours=ours))
        assert reported(standing, with_paths=True)["source"] == source
        assert reported(standing, with_paths=False)["source"] is None
