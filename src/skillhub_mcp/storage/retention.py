"""What of a publication is kept: the newest snapshots, the current one, the pinned ones, and what these name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from skillhub_mcp.storage.manifest import (
    CommitPointer,
    SnapshotManifest,
    pack_path,
    segment_path,
    shard_path,
    snapshot_path,
)
from skillhub_mcp.storage.object_store import StoredEntry
from skillhub_mcp.storage.reading import PublicationReader

_PLACES = ("packs", "shards", "segments", "snapshots", "clock")


def drop_snapshots(pointer: CommitPointer, *, keep: int) -> CommitPointer:
    """Return the pointer with the `keep` newest snapshots, the current one and the pinned ones."""
    kept = tuple(
        one for place, one in enumerate(pointer.snapshots) if place < keep or one.pinned or one.id == pointer.current
    )
    return replace(pointer, snapshots=kept)


def remove_orphans(
    reader: PublicationReader, pointer: CommitPointer, *, seconds: float, check: Callable[[], None]
) -> int:
    """Remove the objects that no kept snapshot names and that are older than `seconds`, and return how many.

    The caller holds the lease, which `check` looks at before each removal. Raises StorageUnavailable, and
    PublicationDamaged where a kept snapshot cannot be read: then nothing is removed.
    """
    named: set[str] = set()
    for listed in pointer.snapshots:
        named |= {snapshot_path(listed.id), *_paths(reader.snapshot(listed))}
    found = [entry for place in _PLACES for entry in reader.store.list(place)]
    # What was just written has the storage's present time: no other clock is asked.
    now = max((entry.modified for entry in found), default=0.0)
    orphans = [entry for entry in found if entry.path not in named and _is_old(entry, now, seconds)]
    for orphan in orphans:
        check()
        reader.store.delete([orphan.path])
    return len(orphans)


def _is_old(entry: StoredEntry, now: float, seconds: float) -> bool:
    return now - entry.modified >= seconds


def _paths(manifest: SnapshotManifest) -> set[str]:
    index = manifest.index
    segments = {ref.sha256 for ref in (*index.segments, index.statistics, index.base_keys)}
    return {
        *(shard_path(shard.ref.sha256) for shard in manifest.shards),
        *(pack_path(pack.sha256) for pack in manifest.packs),
        *map(segment_path, segments),
    }
