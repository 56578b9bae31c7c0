from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest
from tests.fakes.object_storage import ObjectStorage
from tests.storage.conftest import Target

from skillhub_mcp.errors import LeaseLost, PublicationBusy
from skillhub_mcp.storage.lease import LeaseTimes, WriterLease, held_lease
from skillhub_mcp.storage.manifest import LEASE
from skillhub_mcp.storage.object_store import ObjectStore, PutConflict

AT_ONCE = LeaseTimes(wait_seconds=0, poll_seconds=0.01)


def test_each_holder_has_a_larger_number_than_all_before(target: Target) -> None:
    numbers = []
    for _ in range(3):
        with held_lease(target.open(), "one", AT_ONCE) as lease:
            lease.check()
            numbers.append(lease.fence)
    with held_lease(target.open(), "one", AT_ONCE, at_least=40) as lease:
        numbers.append(lease.fence)
    assert numbers == [1, 2, 3, 41]


def test_a_lease_is_released_however_its_holder_ends(target: Target) -> None:
    with pytest.raises(KeyError), held_lease(target.open(), "one", AT_ONCE):
        raise KeyError
    with held_lease(target.open(), "two", AT_ONCE) as lease:
        assert lease.fence == 2


def test_who_finds_it_held_is_told_by_whom_and_waits(target: Target) -> None:
    waited: list[str] = []
    release = threading.Timer(0.3, lambda: first.__exit__(None, None, None))
    first = held_lease(target.open(), "the first", LeaseTimes())
    first.__enter__()
    with pytest.raises(PublicationBusy, match="the first"), held_lease(target.open(), "two", AT_ONCE):
        pass
    release.start()
    patient = LeaseTimes(wait_seconds=30, poll_seconds=0.02)
    with held_lease(target.open(), "two", patient, on_wait=waited.append) as lease:
        assert (lease.fence, waited) == (2, ["the first"])
    release.join()


def test_the_lease_of_one_who_was_killed_is_taken_over(target: Target) -> None:
    """It is not renewed for as long as it holds."""
    _left_behind(target.open(), seconds=0.2)
    with held_lease(target.open(), "two", LeaseTimes(seconds=0.2, wait_seconds=30, poll_seconds=0.02)) as lease:
        assert lease.fence == 6


def test_a_lease_that_was_left_long_ago_by_the_storages_clock_is_not_waited_for(tmp_path: Path) -> None:
    store = Target(str(tmp_path), {}).open()
    _left_behind(store, seconds=30.0)
    os.utime(tmp_path / LEASE, (1_600_000_000, 1_600_000_000))
    with held_lease(store, "two", AT_ONCE) as lease:
        assert lease.fence == 6


def test_a_lease_is_renewed_for_as_long_as_it_is_held_and_is_nobody_elses(target: Target) -> None:
    with held_lease(target.open(), "one", LeaseTimes(renew_seconds=0.05)) as lease:
        seen: set[str] = set()
        while len(seen) < 4:
            found = target.open().get(LEASE, most=10_000)
            assert found is not None
            seen.add(found.etag)
        with pytest.raises(PublicationBusy), held_lease(target.open(), "two", AT_ONCE):
            pass
        lease.check()


def test_a_renewed_lease_counts_from_its_renewal_by_the_storages_clock(tmp_path: Path) -> None:
    store = Target(str(tmp_path), {}).open()
    with held_lease(store, "one", LeaseTimes(renew_seconds=0.05)):
        os.utime(tmp_path / LEASE, (1_600_000_000, 1_600_000_000))
        while (tmp_path / LEASE).stat().st_mtime == 1_600_000_000:
            time.sleep(0.01)
        with pytest.raises(PublicationBusy), held_lease(store, "two", AT_ONCE):
            pass


def test_who_lost_the_lease_finds_out_before_the_next_write(target: Target) -> None:
    store = target.open()
    with held_lease(store, "one", LeaseTimes(renew_seconds=0.03)) as lease:
        found = store.get(LEASE, most=10_000)
        taken = False
        while not taken and found is not None:
            taken = _taken(store, found.etag)
            found = store.get(LEASE, most=10_000)
        assert _refused(lease)
    # What it no longer holds, it does not release.
    now = store.get(LEASE, most=10_000)
    assert now is not None
    assert json.loads(now.content)["holder"] == "a thief"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"fence": 1}', b"\xff"])
def test_a_lease_that_says_nothing_is_nobodys(target: Target, content: bytes) -> None:
    target.open().put(LEASE, content)
    with held_lease(target.open(), "one", AT_ONCE, at_least=4) as lease:
        assert lease.fence == 5


def test_a_lease_whose_answer_was_lost_is_held(s3: ObjectStorage, bucket: Target) -> None:
    s3.faults.add("PUT", LEASE, "lost")
    with held_lease(bucket.open(), "one", AT_ONCE) as lease:
        lease.check()
        assert lease.fence == 1


def _left_behind(store: ObjectStore, *, seconds: float) -> None:
    said = {"fence": 5, "holder": "killed", "nonce": "x", "renewal": 3, "seconds": seconds, "released": False}
    store.put(LEASE, json.dumps(said).encode())


def _refused(lease: WriterLease) -> bool:
    """Whether the lease is found to be lost, within a few renewals."""
    for _ in range(1_000):
        try:
            lease.check()
        except LeaseLost:
            return True
        threading.Event().wait(0.01)
    return False


def _taken(store: ObjectStore, etag: str) -> bool:
    said = {"fence": 9, "holder": "a thief", "nonce": "y", "renewal": 0, "seconds": 60.0, "released": False}
    try:
        store.replace(LEASE, json.dumps(said).encode(), etag)
    except PutConflict:
        return False
    return True
