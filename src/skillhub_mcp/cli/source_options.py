"""How the commands that install skills open a source, by the settings and the options of the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillhub_mcp.library.sources.opening import OpenOptions
    from skillhub_mcp.settings import Settings


def open_options(settings: Settings, *, working_directory: str, insecure: bool = False) -> OpenOptions:
    """Return how a source is opened; `insecure` allows http: to other machines, as a person asked for it."""
    from skillhub_mcp.library.sources.opening import OpenOptions  # only what reaches out pays for it

    return OpenOptions(working_directory, insecure=insecure, tokens=settings.library.source_tokens)
