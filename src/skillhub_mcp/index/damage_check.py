"""Which parts of a published index are damaged: all of it is read, and compared with what its state says."""

from __future__ import annotations

from collections.abc import Iterator

from skillhub_mcp.index.damage import Damage, IndexPart
from skillhub_mcp.index.lance import IndexDamaged
from skillhub_mcp.index.lance_store import LanceStore
from skillhub_mcp.index.root_states import with_missing
from skillhub_mcp.index.row_keys import keys_of, located
from skillhub_mcp.index.state import IndexState
from skillhub_mcp.index.state_entries import can_be_read
from skillhub_mcp.skills.admission import LENIENT


def damages_of(state: IndexState, store: LanceStore, *, embedding: str | None) -> Iterator[Damage]:
    """Yield what is damaged of a published index, whose table is that of `store`; `embedding` is None without vectors.

    The state is of the schema that this version writes.
    """
    if state.entries_lost:
        what = "what was read from the skills is lost: its file is missing, cut off or changed"
        yield Damage(IndexPart.STATE, what, mends_itself=True)
    if unreadable := sum(1 for entry in state.memory.values() if not can_be_read(entry)):
        yield Damage(IndexPart.STATE, f"what was read from {unreadable:,} skills is lost", mends_itself=True)
    if not store.exists:
        yield Damage(IndexPart.TABLE, "it is missing")
        return
    of_table = list(store.damages(state.table_version, created_as=state.table.id))
    if not any(damage.part is IndexPart.TABLE for damage in of_table):
        yield from _damaged_rows(state, store, embedding)
    yield from of_table


def _damaged_rows(state: IndexState, store: LanceStore, embedding: str | None) -> Iterator[Damage]:
    """Yield where the rows are not what the state says. They can be read."""
    try:
        index = store.open_table(state.table_version, created_as=state.table.id)
        keys = keys_of(state)
        rows = index.stored()
        stored = {keys.directory(key): digest for key, digest in rows.items()}
        doubled = index.count() - len(stored)
        lacking = located(index.unembedded(), keys) if embedding is not None else frozenset()
    except IndexDamaged as error:
        yield Damage(IndexPart.TABLE, str(error))
        return
    if doubled:
        yield Damage(IndexPart.TABLE, f"{doubled:,} rows are there more than once")
    said = {
        path: entry.stamp.content_hash
        for path, entry in state.memory.items()
        if entry.skill is not None and not LENIENT.refuses(entry.diagnostics)
    }
    wrong = sum(1 for path, digest in said.items() if path not in stored or stored[path] != digest)
    if wrong:
        yield Damage(IndexPart.ROWS, f"{wrong:,} rows are missing or are not of the files that the state names")
    if state.embedding == embedding and not state.entries_lost:
        counted = with_missing(state.roots, lacking)
        differ = sum(abs(own.missing_vectors - counted[root].missing_vectors) for root, own in state.roots.items())
        if differ:
            yield Damage(IndexPart.VECTORS, f"the state is wrong about the vectors of {differ:,} skills")
