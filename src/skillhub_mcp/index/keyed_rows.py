"""Rows of the schema before keys, which named this machine's directories, with their keys: nothing is embedded anew."""

from __future__ import annotations

from dataclasses import replace

from skillhub_mcp.index.identity import IndexIdentity
from skillhub_mcp.index.lance_store import KEYS_SINCE, LanceStore
from skillhub_mcp.index.row_keys import library_keys
from skillhub_mcp.index.state import IndexState, PublishedTable


def with_keys(state: IndexState, store: LanceStore, identity: IndexIdentity) -> IndexState:
    """Give the rows of the published table, which is that of `store`, their keys, and return the state that says so.

    Nothing is read from the skills: also the rows of other servers' roots stay. Raises IndexDamaged and NoRoom.
    """
    keys = library_keys(state)

    def key_of(path: str, root: str) -> str | None:
        having = (one for one, own in state.roots.items() if path in own.memory)
        known = root if root in state.roots else next(having, None)
        return None if known is None else keys.key(known, path)

    version = store.with_keys(state.table_version, created_as=state.table.id, embedding=state.embedding, key_of=key_of)
    index = store.open(version, keys=keys)
    return replace(
        state,
        database=identity.database_name,
        embedder=identity.embedder,
        schema=KEYS_SINCE,
        table=PublishedTable(state.table.name, index.table_id),
        table_version=version,
    )
