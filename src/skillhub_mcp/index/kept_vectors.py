"""Which vectors are kept where rows are written anew: those of texts that are the same, wherever they still lie."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence

from skillhub_mcp.index.identity import IndexIdentity
from skillhub_mcp.index.keys import RowKeys
from skillhub_mcp.index.lance import IndexDamaged, LanceIndex
from skillhub_mcp.index.lance_store import LanceStore
from skillhub_mcp.index.row_keys import keys_of
from skillhub_mcp.index.rows import StoredVector
from skillhub_mcp.index.state import IndexState
from skillhub_mcp.skills.model import Skill

log = logging.getLogger(__name__)


def unchanged_vectors(
    skills: Sequence[Skill], index: LanceIndex, keys: RowKeys, *, donors: Iterable[str] = ()
) -> dict[str, StoredVector]:
    """Return the stored vectors of the skills whose searchable text is still the embedded one, by directory.

    A skill may have it from one of the rows `donors`: where a link is switched, every skill behind it moves. Raises
    IndexDamaged.
    """
    earlier = index.vectors({key for skill in skills for key in keys.of(skill.directory)}.union(donors))
    return _by_text(skills, earlier.values())


def copies_of(skills: Collection[Skill], state: IndexState) -> list[str]:
    """Return directories whose SKILL.md is that of one of `skills`: where a library was copied or moved."""
    wanted = {skill.stamp.content_hash for skill in skills}
    if not wanted:
        return []
    return [
        directory
        for own in state.roots.values()
        for directory, entry in own.memory.items()
        if entry.stamp.content_hash in wanted
    ]


def vectors_before(skills: Sequence[Skill], published: IndexState, store: LanceStore) -> dict[str, StoredVector]:
    """Return the vectors of the published table, which is that of `store`, or those beside it where it is damaged."""
    if store.is_as_written:
        try:
            index = store.open_table(published.table_version, created_as=published.table.id)
            return unchanged_vectors(skills, index, keys_of(published))
        except IndexDamaged as error:
            log.debug("The vectors of the index before cannot be read from the table: %s", error)
    return _vectors_beside(skills, published, store)


def vectors_found(skills: Sequence[Skill], identity: IndexIdentity, embedding: str) -> dict[str, StoredVector]:
    """Return the vectors of a table that says itself whose they are: its state file was lost."""
    for name in identity.possible_tables():
        found = LanceStore(identity.database, name).newest()
        if found is not None and found.embedding == embedding:
            try:
                return _by_text(skills, found.vectors().values())
            except IndexDamaged as error:
                log.debug("The vectors of a table without a state cannot be read: %s", error)
                break
    return {}


def free_table(identity: IndexIdentity, embedding: str) -> str:
    """Return the name of the table to write anew: none that has another embedder's vectors."""
    if identity.find() is not None:
        return identity.claim().table
    first, *others = identity.possible_tables()
    for name in (first, *others):
        found = LanceStore(identity.database, name).newest()
        if found is None or found.embedding in (None, embedding):
            return name
    return first


def _vectors_beside(skills: Sequence[Skill], published: IndexState, store: LanceStore) -> dict[str, StoredVector]:
    """Return the vectors of skills whose text is unchanged from the postings, which lie beside a damaged table.

    They do not say of which text a vector is: it is the published one where no skill lacked its vector.
    """
    if any(root.missing_vectors for root in published.roots.values()):
        return {}
    memory, keys = published.memory, keys_of(published)
    kept = store.kept_vectors(published.table_version, published.table.id)
    by_directory = dict(zip(keys.directories(kept), kept.values(), strict=True))
    found: dict[str, StoredVector] = {}
    for skill in skills:
        own, before = by_directory.get(skill.directory), memory.get(skill.directory)
        if own is not None and before is not None and before.skill is not None:
            text = before.skill.searchable_text
            if text == skill.searchable_text:
                found[skill.directory] = StoredVector(text, own)
    return found


def _by_text(skills: Iterable[Skill], vectors: Iterable[StoredVector]) -> dict[str, StoredVector]:
    by_text = {own.text: own for own in vectors}
    return {skill.directory: by_text[skill.searchable_text] for skill in skills if skill.searchable_text in by_text}
