"""The version of the package, from the metadata of the installed distribution."""

from __future__ import annotations

from functools import cache


@cache
def version() -> str:
    """Return the version of the installed distribution, such as `0.1.0`."""
    from importlib.metadata import version as distribution_version

    return distribution_version("skillhub-mcp")
