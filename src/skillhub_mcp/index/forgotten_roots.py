"""The index of one embedder without the rows, vectors and entries of some roots; those of others stay."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.index.indexed_roots import keys_without
from skillhub_mcp.index.keys import LibraryKeys
from skillhub_mcp.index.lance_store import SCHEMA_VERSION, LanceStore
from skillhub_mcp.index.state import IndexState


def without_roots(database: str, state: IndexState, roots: Collection[str]) -> IndexState:
    """Write a version of the published table without the rows of `roots`, and return the state that publishes it.

    Raises IndexDamaged, and IndexUnavailable where the entries of the index are lost: which rows another root has, too,
    is not known then.
    """
    if state.entries_lost or state.schema != SCHEMA_VERSION:
        lost = "what was read from the skills is lost" if state.entries_lost else "an earlier SkillHub wrote it"
        raise IndexUnavailable(
            f"Nothing is forgotten in the index for {state.embedder} at {database}: {lost}",
            hint="run skillhub index --repair with that EMBEDDING_PROVIDER, and then this again",
        )
    staying = {root: own for root, own in state.roots.items() if root not in roots}
    store = LanceStore(database, state.table.name)
    version = store.with_keys(
        state.table_version, created_as=state.table.id, embedding=state.embedding, key_of=keys_without(state, roots)
    )
    # Before the state is saved, which is the commit: a version that cannot be read is not published.
    index = store.open(version, keys=LibraryKeys({root: own.label for root, own in staying.items()}))
    table = replace(state.table, id=index.table_id)
    return replace(state, table=table, table_version=version, roots=staying)
