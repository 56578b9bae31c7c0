"""What a host is told of a loaded skill's lock, beside what the model reads."""

from __future__ import annotations

from skillhub_mcp.locks.kept_library import LockStanding
from skillhub_mcp.locks.lock_file import LockedByHub, LockedSkill
from skillhub_mcp.locks.states import LockState
from skillhub_mcp.server.tools.results import LOCK_META_KEY, lock_meta

DIGEST = "sha256:" + "a" * 64


def test_source_commit_digest_signer_and_state_are_told() -> None:
    ours = LockedByHub(DIGEST, commit="c" * 40, signer="SHA256:k", principal="ann@example.org")
    locked = LockedSkill("pdf", "o/r", "github", ref="v1", ours=ours)
    meta = lock_meta(LockStanding(LockState.UNCHANGED, locked))
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


def test_nothing_is_told_of_what_no_lock_names() -> None:
    assert lock_meta(LockStanding(LockState.UNLOCKED)) is None
    assert lock_meta(None) is None


def test_no_text_of_a_lock_passes_for_anything_else() -> None:
    meta = lock_meta(LockStanding(LockState.UNLOCKED, LockedSkill("pdf", "o/r\u202e\x1b[2J", "github")))
    assert meta is not None
    told = meta[LOCK_META_KEY]
    assert isinstance(told, dict)
    assert not {"\u202e", "\x1b"} & set(str(told["source"]))
