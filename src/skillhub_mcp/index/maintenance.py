"""What `skillhub index` and `doctor` do with an index besides syncing it: what is damaged, which roots it has."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from skillhub_mcp.index.changes import committed_hashes
from skillhub_mcp.index.damage import Damage, IndexPart
from skillhub_mcp.index.failures import IndexDamaged
from skillhub_mcp.index.indexed_roots import IndexedRoot
from skillhub_mcp.index.indexed_roots import indexed_roots as roots_of_states
from skillhub_mcp.index.writer import IndexWriter
from skillhub_mcp.skills.roots import SkillRoot


class Maintenance(Protocol):
    """What is done with the index of a hub besides searching it and keeping it in sync."""

    def damages(self) -> tuple[Damage, ...]:
        """Return what is damaged in the index, reading all of it. Raises IndexUnavailable for a newer one."""

    def indexed_roots(self) -> tuple[IndexedRoot, ...]:
        """Return the roots that the index has rows of, used here or not."""

    def forget(self, roots: Collection[str]) -> None:
        """Drop the rows of roots from the index. Raises IndexUnavailable."""


class DatabaseMaintenance:
    """The maintenance of a database; `roots` returns those that are searched."""

    def __init__(self, writer: IndexWriter, roots: Callable[[], Sequence[SkillRoot]]) -> None:
        self._writer = writer
        self._roots = roots

    def damages(self) -> tuple[Damage, ...]:
        """Return what is damaged. See `Maintenance`."""
        return damages_of(self._writer)

    def indexed_roots(self) -> tuple[IndexedRoot, ...]:
        """Return the roots of the indexes for all embedders. Loads no database."""
        return roots_of_states(self._writer.states(), {root.path for root in self._roots()})

    def forget(self, roots: Collection[str]) -> None:
        """Drop the rows of roots from the indexes for all embedders. Raises IndexUnavailable."""
        for embedder in [state.embedder for state in self._writer.states()]:
            self._writer.for_embedder(embedder).forget(roots)


def damages_of(writer: IndexWriter) -> tuple[Damage, ...]:
    """Return what is damaged in an index, reading all of it. Repairs nothing.

    Raises IndexUnavailable if a newer version of SkillHub wrote it.
    """
    refusal = writer.refusal()
    if refusal is not None:
        raise refusal
    state = writer.state()
    if state is None:
        if not writer.has_table:
            return ()
        what = "there is a table, and no state that says which version counts"
        return (Damage(IndexPart.STATE, what, mends_itself=True),)
    try:
        table = writer.open_table(state)
        table.check()
        stored = table.hashes("true")
    except IndexDamaged as error:
        return (Damage(IndexPart.TABLE, str(error)),)
    found = []
    wanted = committed_hashes(state)
    differing = len(wanted.items() ^ stored.items())
    if differing:
        found.append(Damage(IndexPart.ROWS, f"{len(wanted.keys() ^ stored.keys()) or differing:,} rows differ"))
    lost = [root.label for root in state.roots.values() if not writer.has_statistics(root, table.table_id)]
    if lost:
        what = f"the statistics of {', '.join(lost)} cannot be read"
        found.append(Damage(IndexPart.STATISTICS, what, mends_itself=True))
    return tuple(found)
