"""Publishing: the place that is published to, and what of the library is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillhub_mcp.bootstrap.models import choose_embedder
from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index.changes import committed_hashes
from skillhub_mcp.index.failures import IndexDamaged
from skillhub_mcp.index.index_files import IndexFiles
from skillhub_mcp.index.state_file import NO_EMBEDDING
from skillhub_mcp.settings import Settings

if TYPE_CHECKING:
    from skillhub_mcp.store.library import LibraryToStore
    from skillhub_mcp.store.targets import Target


def publication_target(settings: Settings, target: str) -> Target:
    """Return the place of a publication: a directory or a bucket. Nothing is read or written yet.

    Raises InvalidArgument for a target that is neither, StorageNotInstalled and InvalidSetting.
    """
    from skillhub_mcp.store.targets import open_target

    return open_target(target, settings.storage.options)


def library_to_publish(settings: Settings, hub: SkillHub) -> LibraryToStore:
    """Bring the index up to date and return what of the library is published.

    Raises IndexUnavailable if there is no index to publish, or another process has changed it since.
    """
    from skillhub_mcp.store.library import library_to_store

    view = hub.refresh()
    if view.problem is not None:
        raise view.problem
    if view.snapshot.report.unavailable:
        missing = view.snapshot.report.unavailable[0]
        hint = f"bring it back, or drop its skills with skillhub index --forget {missing.path}"
        message = f"Skills cannot be published without those of {missing.path}, which {missing.reason}"
        raise IndexUnavailable(message, hint=hint)
    embedder = choose_embedder(settings)
    embedding = NO_EMBEDDING if embedder is None else embedder.identity
    state, index = IndexFiles(settings.index.db_path, embedding).state(), view.index
    if state is None or index is None or state.published != index.published:
        raise IndexUnavailable("The index changed while it was to be published", hint="publish again")
    try:
        table = index.table
    except IndexDamaged as error:
        hint = "skillhub index --verify finds out what is wrong with it"
        raise IndexUnavailable(f"The index cannot be read: {error}", hint=hint) from error
    keys = state.keys
    return library_to_store(
        view.snapshot,
        hub.access.now(),
        table=table,
        embedding=embedding,
        labels={path: root.label for path, root in state.roots.items()},
        rows={keys.directory(key): key for key in committed_hashes(state) if keys.root(key) is not None},
        entries=state.memory_of([root.path for root in view.snapshot.report.roots]),
    )
