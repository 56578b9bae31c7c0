from __future__ import annotations

from dataclasses import replace

import pytest
from tests.fakes.object_storage import ObjectStorage
from tests.storage.conftest import Target
from tests.storage.values import listed_snapshot, pointer

from skillhub_mcp.errors import PublicationMissing
from skillhub_mcp.storage.commit import change_pointer, pinned, rolled_back
from skillhub_mcp.storage.manifest import CommitPointer
from skillhub_mcp.storage.reading import PublicationReader

FIRST, SECOND = listed_snapshot(1, b"1"), listed_snapshot(2, b"2")


def test_the_first_pointer_is_made_only_where_that_is_meant(target: Target) -> None:
    with pytest.raises(PublicationMissing):
        change_pointer(target.open(), lambda _: pointer(FIRST))
    change_pointer(target.open(), lambda _: pointer(FIRST), may_be_new=True)
    assert PublicationReader(target.open()).pointer()[0] == pointer(FIRST)


def test_a_change_that_met_another_is_made_to_what_is_there_now(target: Target) -> None:
    store = target.open()
    change_pointer(store, lambda _: pointer(SECOND, FIRST), may_be_new=True)
    seen: list[CommitPointer] = []

    def pin(before: CommitPointer) -> CommitPointer:
        if not seen:
            change_pointer(target.open(), lambda one: rolled_back(one, FIRST.id, target="t"))
        seen.append(before)
        return pinned(before, SECOND.id, pin=True, target="t")

    change_pointer(store, pin)
    assert [one.current for one in seen] == [SECOND.id, FIRST.id]
    now = PublicationReader(store).pointer()[0]
    assert (now.current, now.snapshots[0].pinned) == (FIRST.id, True)


def test_a_write_whose_answer_was_lost_counts_once(s3: ObjectStorage, bucket: Target) -> None:
    """S3 did it and answered 500: the second try meets the first one's object."""
    change_pointer(bucket.open(), lambda _: pointer(FIRST), may_be_new=True)
    s3.faults.add("PUT", "publication.json", "lost")
    changes: list[int] = []

    def bump(before: CommitPointer) -> CommitPointer:
        changes.append(before.fence)
        return replace(before, fence=before.fence + 1)

    assert change_pointer(bucket.open(), bump).fence == 2
    assert changes == [1]
    assert PublicationReader(bucket.open()).pointer()[0].fence == 2


def test_only_a_kept_snapshot_is_pinned_or_rolled_back_to() -> None:
    for change in (pinned(pointer(FIRST), FIRST.id, pin=True, target="t"),):
        assert change.snapshots[0].pinned
    with pytest.raises(PublicationMissing, match="00000002"):
        rolled_back(pointer(FIRST), SECOND.id, target="t")
    with pytest.raises(PublicationMissing, match="00000002"):
        pinned(pointer(FIRST), SECOND.id, pin=True, target="t")
