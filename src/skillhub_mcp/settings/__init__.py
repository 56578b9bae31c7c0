"""Every setting: its environment variable, default, meaning and value, in groups. Only this package reads them.

`Settings` is passed to `bootstrap` only: everything below it gets the options that it needs.

reading  the settings from options, variables and settings files, and where each value came from
types    the types of settings that pydantic does not have
values   the settings: names, defaults, meanings and values, in frozen groups
"""

from __future__ import annotations

from skillhub_mcp.settings.reading import (
    SettingSource,
    near_setting,
    read_settings,
    settings_of,
    unknown_settings,
    write_setting,
)
from skillhub_mcp.settings.types import local_path
from skillhub_mcp.settings.values import (
    BY_NAME,
    DEFAULT_SKILLS_DIR,
    DEFAULT_USAGE_LOG,
    GROUPS,
    SETTINGS,
    TOKEN_USES,
    TOOL_SETS,
    HttpSettings,
    Settings,
)

__all__ = [
    "BY_NAME", "DEFAULT_SKILLS_DIR", "DEFAULT_USAGE_LOG", "GROUPS", "SETTINGS", "TOKEN_USES", "TOOL_SETS",
    "HttpSettings", "SettingSource", "Settings", "local_path", "near_setting", "read_settings", "settings_of",
    "unknown_settings", "write_setting",
]  # fmt: skip
