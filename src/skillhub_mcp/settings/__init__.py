"""Every setting: its environment variable, default, meaning and value, in groups.

Settings are read from environment variables, and only here; no `.env` file is read. `Settings` is passed to `bootstrap`
only: everything below it gets the options that it needs.

parsing  from the text of a setting to its value
reading  the settings from the environment, and where each value came from
table    the settings: names, defaults and meanings, for the documentation too
values   what is read, in frozen groups
"""

from __future__ import annotations

from skillhub_mcp.settings.reading import SettingSource, read_settings, settings_of, unknown_settings
from skillhub_mcp.settings.table import DEFAULT_SKILLS_DIR, GROUPS, SETTINGS, TOOL_SETS
from skillhub_mcp.settings.values import HttpSettings, Settings

__all__ = [
    "DEFAULT_SKILLS_DIR",
    "GROUPS",
    "SETTINGS",
    "TOOL_SETS",
    "HttpSettings",
    "SettingSource",
    "Settings",
    "read_settings",
    "settings_of",
    "unknown_settings",
]
