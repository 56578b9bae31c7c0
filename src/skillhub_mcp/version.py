"""The package's version, from its one source: the installed distribution."""

from __future__ import annotations

from functools import cache


@cache
def version() -> str:
    """Return the version that `pyproject.toml` gave the installed package, such as `0.1.0`."""
    from importlib.metadata import version as distribution_version

    return distribution_version("skillhub-mcp")
