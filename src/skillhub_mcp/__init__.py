"""SkillHub: the hub through which any AI agent finds, loads and uses Agent Skills.

The public Python API. Names are imported on first use, so that importing the package is cheap.
"""

import os
import sys

# `python -m skillhub_mcp` puts the working directory first on the path: it may be a foreign repository, with a
# `typing.py` of its own. Before it is off again, nothing is imported that Python has not loaded by itself; that is why
# there is no `__future__` here. Where the program itself lies there, it is its own source.
_HAS_WORKING_DIRECTORY = sys.argv[:1] == ["-m"] and not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated)
if _HAS_WORKING_DIRECTORY and sys.path[0] != os.path.dirname(__path__[0]):
    del sys.path[0]

from typing import TYPE_CHECKING, Any  # noqa: E402 - as above

if TYPE_CHECKING:
    from skillhub_mcp.agents_md.resolver import AgentsResolver
    from skillhub_mcp.agents_md.schema import AgentsConfig, AgentsState
    from skillhub_mcp.api import available_skills, build_index, catalogue, refresh_index, resolve
    from skillhub_mcp.bootstrap.hub import make_hub
    from skillhub_mcp.disclosure.catalogue import Budget
    from skillhub_mcp.errors import SkillHubError
    from skillhub_mcp.hub import FoundSkill, LoadedSkill, SearchAnswer, SkillHub
    from skillhub_mcp.settings import Settings, read_settings
    from skillhub_mcp.skills.loader import SkillLoader
    from skillhub_mcp.skills.registry import IndexEntry, IndexReport, Registry, RegistryIndex
    from skillhub_mcp.skills.roots import SkillRoot, Source

__all__ = [
    "AgentsConfig", "AgentsResolver", "AgentsState", "Budget", "FoundSkill", "IndexEntry", "IndexReport",
    "LoadedSkill", "Registry", "RegistryIndex", "SearchAnswer", "Settings", "SkillHub", "SkillHubError",
    "SkillLoader", "SkillRoot", "Source", "available_skills", "build_index", "catalogue", "make_hub", "read_settings",
    "refresh_index", "resolve",
]  # fmt: skip

_NAMES = {
    "agents_md.resolver": ("AgentsResolver",),
    "agents_md.schema": ("AgentsConfig", "AgentsState"),
    "api": ("available_skills", "build_index", "catalogue", "refresh_index", "resolve"),
    "bootstrap.hub": ("make_hub",),
    "disclosure.catalogue": ("Budget",),
    "errors": ("SkillHubError",),
    "hub": ("FoundSkill", "LoadedSkill", "SearchAnswer", "SkillHub"),
    "settings": ("Settings", "read_settings"),
    "skills.loader": ("SkillLoader",),
    "skills.registry": ("IndexEntry", "IndexReport", "Registry", "RegistryIndex"),
    "skills.roots": ("SkillRoot", "Source"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from skillhub_mcp.version import version

        return version()
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
