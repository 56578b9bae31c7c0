"""What an index's state says of each root, and what it says next: merged with a scan, or counted again. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from skillhub_mcp.index.row_keys import keys_with
from skillhub_mcp.index.state import IndexState, RootState, root_digest
from skillhub_mcp.index.state_entries import can_be_read
from skillhub_mcp.skills.scanner import ScanCache, entries_of


def has_others(state: IndexState | None, roots: Collection[str]) -> bool:
    """Whether an index has skills of other roots than these."""
    return state is not None and any(own.memory for root, own in state.roots.items() if root not in roots)


def merged(
    state: IndexState | None,
    memory: ScanCache,
    sources: Mapping[str, str],
    touched: frozenset[str] = frozenset(),
    without_vectors: frozenset[str] | None = None,
) -> dict[str, RootState]:
    """Return the state of every root, with `memory` as the scan cache of those whose `sources` are given, by path.

    Other roots keep theirs, except for directories whose rows were `touched`: their servers scan those again. Where
    rows were written, `without_vectors` are all that lack the vector of their present text.
    """
    found: dict[str, RootState] = {}
    keys = keys_with(state, sources)
    for root, earlier in ({} if state is None else state.roots).items():
        found[root] = earlier
        stale = touched & earlier.memory.keys()
        if stale and root not in sources:
            rest = {path: entry for path, entry in earlier.memory.items() if path not in stale}
            found[root] = replace(earlier, memory=rest)
    for root in sources:
        own = entries_of(memory, {root})
        before = found.get(root)
        missing = 0 if before is None else before.missing_vectors
        found[root] = RootState(root_digest(own, root, before), missing, own, keys.label(root))
    return found if without_vectors is None else with_missing(found, without_vectors)


def with_missing(roots: Mapping[str, RootState], without_vectors: frozenset[str]) -> dict[str, RootState]:
    """Return the roots with the number of their skills that are `without_vectors`."""
    return {root: replace(own, missing_vectors=len(own.memory.keys() & without_vectors)) for root, own in roots.items()}


def without_unreadable(state: IndexState) -> IndexState:
    """Return the state without what its file of entries has lost, which the next scan reads from the files."""
    roots = {}
    for root, own in state.roots.items():
        memory = {path: entry for path, entry in own.memory.items() if can_be_read(entry)}
        roots[root] = replace(own, memory=memory, digest=root_digest(memory, root, own))
    return replace(state, roots=roots)
