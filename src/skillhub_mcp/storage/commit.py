"""Changing the commit pointer: in one conditional write, so that nobody's change is lost and no reader sees half."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from skillhub_mcp.errors import PublicationMissing, StorageUnavailable
from skillhub_mcp.storage.manifest import POINTER, CommitPointer, pointer_json
from skillhub_mcp.storage.object_store import ObjectStore, PutConflict
from skillhub_mcp.storage.reading import PublicationReader

_TRIES = 20


def change_pointer(
    store: ObjectStore, change: Callable[[CommitPointer], CommitPointer], *, may_be_new: bool = False
) -> CommitPointer:
    """Replace the commit pointer by what `change` makes of it, and return that.

    `change` is asked again where somebody else was faster; what it raises ends it. Raises PublicationMissing, unless
    the pointer `may_be_new`, PublicationDamaged and StorageUnavailable.
    """
    reader = PublicationReader(store)
    for _ in range(_TRIES):
        found = reader.pointer_if_any()
        if found is None and not may_be_new:
            raise PublicationMissing(store.name)
        before, etag = (CommitPointer(), None) if found is None else found
        after = change(before)
        if after == before and found is not None:
            return before
        content = pointer_json(after)
        try:
            store.replace(POINTER, content, etag)
        except PutConflict:
            # An answer may have been lost, so that a second try met the first one's write: then that is there now.
            there = reader.pointer_if_any()
            if there is None or there[0] != after:
                continue
        return after
    raise StorageUnavailable(store.name, f"{POINTER} changed {_TRIES} times while it was being changed")


def pinned(pointer: CommitPointer, snapshot: str, *, pin: bool, target: str) -> CommitPointer:
    """Return the pointer with a snapshot pinned, so that it is always kept, or not. Raises PublicationMissing."""
    if pointer.find(snapshot) is None:
        raise PublicationMissing(target, snapshot)
    snapshots = tuple(replace(one, pinned=pin) if one.id == snapshot else one for one in pointer.snapshots)
    return replace(pointer, snapshots=snapshots)


def rolled_back(pointer: CommitPointer, snapshot: str, *, target: str) -> CommitPointer:
    """Return the pointer with another kept snapshot as the current one. Raises PublicationMissing."""
    if pointer.find(snapshot) is None:
        raise PublicationMissing(target, snapshot)
    return replace(pointer, current=snapshot)
