"""Keeping what `outdated` and `update` saw of the sources of installed skills, for who asks no source."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime, timezone

from skillhub_mcp.atomic_write import atomic_write
from skillhub_mcp.library.changes.own_places import places_of
from skillhub_mcp.library.changes.refusals import unwritable
from skillhub_mcp.library.sources.upstream import Compared, SourceStanding
from skillhub_mcp.locks.seen_sources import SeenNewer, read_seen, seen_path, seen_text


def keep_seen(root: str, compared: Sequence[Compared], *, whole: bool) -> None:
    """Keep which of the compared skills of `root` their sources have newer; `whole` where all of its lock were.

    What could not be asked stays as it was seen before. Nothing is written where nothing is newer, and nothing was.
    Raises LibraryUnwritable and SkillConflict.
    """
    places = places_of(root)
    before = read_seen(places.root)
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    asked = {one.locked.name for one in compared if one.standing is not SourceStanding.UNKNOWN}
    kept = {one.locked.name for one in compared} if whole else before.keys()
    after = {name: one for name, one in before.items() if name in kept - asked}
    for one in compared:
        ours = one.locked.ours
        if one.standing is SourceStanding.OUTDATED and ours is not None:
            after[one.locked.name] = SeenNewer(ours.digest, ours.commit, one.commit, now)
    if after == before or not os.path.isdir(places.root):
        return
    places.make()
    path = seen_path(places.root)
    try:
        atomic_write(path, seen_text(after).encode(), follow=False)
    except OSError as error:
        raise unwritable(path, error) from error
