"""What the keys of an index's rows mean, by its published state. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from skillhub_mcp.index.keys import LibraryKeys, PathKeys, RowKeys, free_label
from skillhub_mcp.index.lance_store import KEYS_SINCE
from skillhub_mcp.index.state import IndexState
from skillhub_mcp.skills.scanner import ScanCache


def keys_of(state: IndexState, *, known: Callable[[list[str]], list[str]] = list) -> LibraryKeys | PathKeys:
    """Return what the keys of the rows of a published table mean; see `LibraryKeys` for what is `known`."""
    return PathKeys() if state.schema < KEYS_SINCE else library_keys(state, known=known)


def library_keys(state: IndexState, *, known: Callable[[list[str]], list[str]] = list) -> LibraryKeys:
    """Return the keys that a state's labels make, whether or not its table has them yet."""
    return LibraryKeys({root: own.label for root, own in state.roots.items()}, known=known)


def keys_with(
    state: IndexState | None, sources: Mapping[str, str], *, known: Callable[[list[str]], list[str]] = list
) -> LibraryKeys:
    """Return the keys of all roots of a state and of others, whose `sources` are by path: these get free labels."""
    labels = {} if state is None else {root: own.label for root, own in state.roots.items()}
    for root, source in sources.items():
        if root not in labels:
            labels[root] = free_label(source, labels.values())
    return LibraryKeys(labels, known=known)


def located(rows: Iterable[str], keys: RowKeys) -> frozenset[str]:
    """Return the directories of rows by their keys."""
    return frozenset(keys.directories(rows))


def paths_in(memory: ScanCache) -> Callable[[list[str]], list[str]]:
    """Return what returns the texts of paths that the skills there have, where there are such."""
    if not memory:
        return list
    entry_at = memory.get

    def known(paths: list[str]) -> list[str]:
        # As long as rows and entries are those of one index of all: nothing is looked up a hundred thousand times. A
        # few rows, as of a change, are not held against all.
        if len(paths) == len(memory) and paths == (own := list(memory)):
            return own
        return [
            path if (entry := entry_at(path)) is None or entry.skill is None else entry.skill.directory
            for path in paths
        ]

    return known
