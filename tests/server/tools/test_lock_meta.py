"""The lock state of a loaded skill, in the metadata for hosts."""

from __future__ import annotations

import pytest

from skillhub_mcp.locks.file_digests import LockState
from skillhub_mcp.locks.lock_file import LockedByHub, LockedSkill
from skillhub_mcp.locks.lock_verifier import LockStanding
from skillhub_mcp.server.tools.results import LOCK_META_KEY, lock_meta

DIGEST = "sha256:" + "a" * 64


def test_source_commit_digest_signer_and_state_are_reported() -> None:
    ours = LockedByHub(DIGEST, commit="c" * 40, signer="SHA256:k", principal="ann@example.org")
    locked = LockedSkill("pdf", "o/r", "github", ref="v1", ours=ours)
    meta = lock_meta(LockStanding(LockState.UNCHANGED, locked), with_paths=False)
    assert meta == {
        LOCK_META_KEY: {
            "state": "unchanged",
            "source": "o/r",
            "ref": "v1",
            "commit": "c" * 40,
            "digest": DIGEST,
            "signer": "ann@example.org",
            "file": None,
        }
    }


def test_text_of_a_lock_is_sanitized() -> None:
    told_by_it = LockedSkill("pdf", "o/r\u202e\x1b[2J")
    meta = lock_meta(LockStanding(LockState.UNLOCKED, told_by_it), with_paths=False)
    assert meta is not None
    told = meta[LOCK_META_KEY]
    assert isinstance(told, dict)
    assert not {"\u202e", "\x1b"} & set(str(told["source"]))


def told(standing: LockStanding, *, with_paths: bool) -> dict[str, object]:
    meta = lock_meta(standing, with_paths=with_paths)
    assert meta is not None
    found = meta[LOCK_META_KEY]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("source", ["/home/ann/pdf", "./pdf", "~/pdf", "file:///home/ann/pdf", "C:\\ann", "C:/ann"])
def test_a_client_without_the_disk_gets_no_path(source: str) -> None:
    locked = LockStanding(LockState.UNCHANGED, LockedSkill("pdf", source, "local", ours=LockedByHub(DIGEST)))
    foreign = LockStanding(LockState.UNLOCKED, LockedSkill("pdf", source, "local"))
    for standing in (locked, foreign):
        assert told(standing, with_paths=True)["source"] == source
        assert told(standing, with_paths=False)["source"] is None
