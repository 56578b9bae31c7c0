"""How the commands that install skills open a source, by the settings and the options of the command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillhub_mcp.cli.library_place import LibraryPlace
    from skillhub_mcp.library.sources.opening import OpenOptions
    from skillhub_mcp.settings import Settings


def open_options(settings: Settings, *, insecure: bool, place: LibraryPlace | None = None) -> OpenOptions:
    """Return how a source is opened; `insecure` allows http: to other machines, as a person asked for it.

    A relative path in the lock of a `place` is from that lock's directory; what a person typed is from where they are.
    """
    from skillhub_mcp.library.sources.opening import OpenOptions  # only what reaches out pays for it

    here = os.getcwd() if place is None else os.path.dirname(place.lock_path)
    return OpenOptions(here, insecure=insecure, tokens=settings.library.source_tokens)
