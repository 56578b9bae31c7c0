"""Every setting: its environment variable, default, meaning and value, in groups.

Settings are read only here. `Settings` is passed to `bootstrap` only: everything below it gets the options that it
needs.

files    the settings files of the person and of the project
parsing  the types of settings that pydantic does not have
reading  the settings from options, environment and files, and where each value came from
table    the settings by name, for the documentation too
values   the settings: names, defaults, meanings and values, in frozen groups
"""

from __future__ import annotations

from skillhub_mcp.settings.files import write_setting
from skillhub_mcp.settings.parsing import local_path
from skillhub_mcp.settings.reading import (
    SettingSource,
    near_setting,
    read_settings,
    settings_of,
    unknown_settings,
)
from skillhub_mcp.settings.table import BY_NAME, GROUPS, SETTINGS
from skillhub_mcp.settings.values import DEFAULT_SKILLS_DIR, TOOL_SETS, HttpSettings, Settings

__all__ = [
    "BY_NAME",
    "DEFAULT_SKILLS_DIR",
    "GROUPS",
    "SETTINGS",
    "TOOL_SETS",
    "HttpSettings",
    "SettingSource",
    "Settings",
    "local_path",
    "near_setting",
    "read_settings",
    "settings_of",
    "unknown_settings",
    "write_setting",
]
