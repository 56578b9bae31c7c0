"""The storage of a publication, and what of the library is published there."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from skillhub_mcp.bootstrap.models import choose_embedder
from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index.lance import IndexDamaged
from skillhub_mcp.settings import Settings
from skillhub_mcp.skills.model import NO_SHAPE

if TYPE_CHECKING:
    from skillhub_mcp.index.skill_index import SkillIndex
    from skillhub_mcp.index.state import IndexState
    from skillhub_mcp.skills.snapshot import Snapshot
    from skillhub_mcp.storage.lance_rows import LanceRows
    from skillhub_mcp.storage.library import LibraryToStore
    from skillhub_mcp.storage.object_store import ObjectStore, Patience

# Publications have an index of a format of their own.
_PUBLISHING = os.path.join("publishing", "skills.lancedb")


def publication_store(
    settings: Settings,
    target: str,
    *,
    patience: Patience | None = None,
    on_slow: Callable[[str], None] | None = None,
) -> ObjectStore:
    """Return the store of the publication at `target`: a directory or a bucket. Nothing is read or written yet.

    Without `patience` it has that of whoever publishes. `on_slow` is called, with the target's name, where a bucket
    takes seconds to answer for the first time.

    Raises InvalidArgument for a target that is neither, StorageNotInstalled and InvalidSetting.
    """
    # Only who publishes, or serves a publication, pays for it.
    from skillhub_mcp.storage.object_store import PATIENT
    from skillhub_mcp.storage.targets import open_store

    return open_store(target, settings.storage.options, patience or PATIENT, on_slow)


def library_to_publish(settings: Settings, hub: SkillHub) -> LibraryToStore:
    """Bring the index up to date and return what of the library is published.

    Raises IndexUnavailable where there is no index to publish, or another process has changed it since.
    """
    # Only who publishes pays for it.
    from skillhub_mcp.storage.library import IndexToStore, labels_of, library_to_store

    view = hub.refresh()
    if view.problem is not None:
        raise view.problem
    if view.snapshot.report.unavailable:
        missing = view.snapshot.report.unavailable[0]
        raise IndexUnavailable(
            f"Skills cannot be published without those of {missing.path}, which {missing.reason}",
            hint="bring it back, or drop its skills with skillhub index --forget-missing",
        )
    index, state = _index_to_publish(settings, view.snapshot)
    memory = state.memory
    return library_to_store(
        view.snapshot,
        hub.access.now(),
        IndexToStore(index, state.schema, state.embedder, state.embedding),
        labels=labels_of(view.snapshot.report.roots, {path: own.label for path, own in state.roots.items()}),
        shapes=lambda directory: memory[directory].shape if directory in memory else NO_SHAPE,
    )


def _index_to_publish(settings: Settings, snapshot: Snapshot) -> tuple[SkillIndex, IndexState]:
    """Return an index of the format that publications have, which is kept beside the database.

    Raises IndexUnavailable.
    """
    from skillhub_mcp.index.indexer import Indexer
    from skillhub_mcp.skills.scanner import scan

    roots = snapshot.report.roots
    place = os.path.join(os.path.dirname(os.path.realpath(settings.index.db_path)), _PUBLISHING)
    indexer = Indexer(place, roots, embedder=choose_embedder(settings))
    indexer.sync(lambda memory: scan(roots, memory=memory))
    indexer.embed_missing(seconds=None)
    state = indexer.state()
    if state is None:
        raise IndexUnavailable("The index changed while it was to be published", hint="publish again")
    try:
        return indexer.open(state), state
    except IndexDamaged as error:
        raise IndexUnavailable(f"The index at {place} cannot be read: {error}", hint=f"remove {place}") from error


def publication_rows(settings: Settings, target: str, store: ObjectStore) -> Callable[[Callable[[], None]], LanceRows]:
    """Return what makes the LanceDB table of the publication at `target`, given what it calls before each write."""
    from skillhub_mcp.storage.lance_rows import LanceRows
    from skillhub_mcp.storage.targets import is_bucket

    uri, options = f"{store.name}/lance", settings.storage.options if is_bucket(target) else {}
    return lambda check: LanceRows(store.name, uri, options, check=check)
