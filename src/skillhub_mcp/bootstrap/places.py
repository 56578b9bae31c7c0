"""What is kept beside the index, and the person's file of reviews."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable

from skillhub_mcp.environment import expand_home
from skillhub_mcp.settings import Settings


def reviews_path() -> str:
    """Return the path of the person's file of reviews of the audit's findings."""
    return expand_home("~/.skillhub/reviews.json")


def mirror_directory(settings: Settings) -> str:
    """Return the directory of the mirror of the publication that `settings` name: each publication has its own."""
    name = hashlib.sha256(settings.index.db_path.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return os.path.join(settings.replica.mirror_dir, name)


def beside_index(settings: Settings, name: str) -> str:
    """Return the path of what is kept beside the index under that name."""
    if settings.replica.read_only:
        return os.path.join(mirror_directory(settings), name)
    return os.path.join(os.path.dirname(os.path.abspath(settings.index.db_path)), name)


def forget_kept(settings: Settings, is_forgotten: Callable[[str], bool]) -> None:
    """Drop the cached audits of the directories that are forgotten. Raises OSError."""
    from skillhub_mcp.auditing.kept import KEPT_FILE, KeptFile

    KeptFile(beside_index(settings, KEPT_FILE)).forget(is_forgotten)
