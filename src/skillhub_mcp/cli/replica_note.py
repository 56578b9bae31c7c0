"""What a replica serves, for commands that are about the skills of this machine: there these are not what is served."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from skillhub_mcp.cli.output import from_home, print_note
from skillhub_mcp.redaction import redacted
from skillhub_mcp.sanitize import in_line

if TYPE_CHECKING:
    from skillhub_mcp.cli.library_place import LibraryPlace
    from skillhub_mcp.settings import Settings


def served_publication(settings: Settings) -> str:
    """Return that a replica serves no place of this machine, in words; empty for what is none."""
    if not settings.replica.read_only:
        return ""
    named = in_line(from_home(redacted(settings.index.db_path)))
    return f"SKILLHUB_READ_ONLY is set: the publication {named} is served here, and no place of this machine"


def note_publication(settings: Settings) -> None:
    """Say on stderr, where a replica is one, that a command is about other skills than those that are served."""
    if served := served_publication(settings):
        print_note(f"{served}. What follows is about the skills of this machine.")


def note_publication_beside(place: LibraryPlace, options: Mapping[str, str]) -> None:
    """Say the same of a command that keeps a library, unless an option names that library. Raises InvalidSetting."""
    from skillhub_mcp.settings import settings_of

    if not place.option:
        note_publication(settings_of(options))
