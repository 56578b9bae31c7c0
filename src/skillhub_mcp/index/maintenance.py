"""What `skillhub index` and `doctor` do with an index besides syncing it: what is damaged, which roots it has."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from skillhub_mcp.index.changes import committed_hashes
from skillhub_mcp.index.damage import Damage, IndexPart
from skillhub_mcp.index.indexed_roots import IndexedRoot
from skillhub_mcp.index.indexed_roots import indexed_roots as roots_of_states
from skillhub_mcp.index.lance import IndexDamaged
from skillhub_mcp.index.writer import IndexWriter
from skillhub_mcp.skills.roots import SkillRoot


def damages(writer: IndexWriter) -> tuple[Damage, ...]:
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


def indexed_roots(writer: IndexWriter, used: Sequence[SkillRoot]) -> tuple[IndexedRoot, ...]:
    """Return the roots that the indexes of a database have rows of, for whatever embedder. Loads no database."""
    return roots_of_states(writer.states(), {root.path for root in used})


def forget(writer: IndexWriter, roots: Collection[str]) -> None:
    """Drop the rows, vectors and entries of roots from all indexes of a database. Raises IndexUnavailable."""
    for embedder in [state.embedder for state in writer.states()]:
        writer.for_embedder(embedder).forget(roots)
