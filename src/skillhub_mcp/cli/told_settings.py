"""The settings of a command, with a note for each value that it cannot use and replaces by the default."""

from __future__ import annotations

import os
from collections.abc import Mapping

from skillhub_mcp.cli.output import print_note
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import Settings, read_settings


def told_settings(options: Mapping[str, str]) -> Settings:
    """Return the settings, which `options` override; note on stderr which are invalid and have their default instead.

    For commands whose result depends on such settings. Raises InvalidSetting for an invalid value of any other.
    """
    settings, sources = read_settings(os.environ, options)
    for source in sources:
        if source.problem is not None:
            print_note(in_line(source.note))
    return settings
