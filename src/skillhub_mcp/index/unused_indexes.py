"""The indexes of a database that nobody has opened for a month: those for embedders that are used no more."""

from __future__ import annotations

import contextlib
import logging
import os
import time

from skillhub_mcp.index.identity import IndexIdentity
from skillhub_mcp.index.lance import IndexDamaged
from skillhub_mcp.index.lance_store import LanceStore
from skillhub_mcp.index.state import remove_state
from skillhub_mcp.index.writer_lock import EMBEDDING_LOCK

log = logging.getLogger(__name__)

_UNUSED_SECONDS = 30 * 24 * 3600


def remove_unused(identity: IndexIdentity) -> None:
    """Remove those that are for other embedders than that of `identity`. For who holds the writer's lock."""
    for path, head in list(identity.others()):
        store = LanceStore(identity.database, head.table)
        try:
            used = max(os.stat(path).st_mtime, store.used_at())
            if time.time() - used < _UNUSED_SECONDS:
                continue
            log.info(
                "The index for %s at %s was last used a month ago; it is removed", head.embedder, identity.database
            )
            remove_state(path)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path + EMBEDDING_LOCK)
            store.discard()
        except (OSError, IndexDamaged) as error:
            log.warning("The unused index for %s cannot be removed: %s", head.embedder, error)
