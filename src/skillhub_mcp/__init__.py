"""SkillHub: the hub through which any AI agent finds, loads and uses Agent Skills.

The public Python API. Names are loaded when first used, so that importing the package costs a command nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillhub_mcp.bootstrap import make_hub
    from skillhub_mcp.errors import SkillHubError
    from skillhub_mcp.hub import FoundSkill, LoadedSkill, SearchAnswer, SkillHub
    from skillhub_mcp.settings import Settings, read_settings

__all__ = [
    "FoundSkill",
    "LoadedSkill",
    "SearchAnswer",
    "Settings",
    "SkillHub",
    "SkillHubError",
    "make_hub",
    "read_settings",
]

_HOMES = {
    "FoundSkill": "hub",
    "LoadedSkill": "hub",
    "SearchAnswer": "hub",
    "Settings": "settings",
    "SkillHub": "hub",
    "SkillHubError": "errors",
    "make_hub": "bootstrap",
    "read_settings": "settings",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from skillhub_mcp.version import version

        return version()
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
