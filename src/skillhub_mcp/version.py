"""The package's version and homepage, from their one source: the installed distribution."""

from __future__ import annotations

from functools import cache


@cache
def version() -> str:
    """Return the version that `pyproject.toml` gave the installed package, such as `0.1.0`."""
    from importlib.metadata import version as distribution_version

    return distribution_version("skillhub-mcp")


@cache
def homepage() -> str | None:
    """Return the address that `pyproject.toml` gives as the project's homepage, or None while it gives none."""
    from importlib.metadata import metadata

    for written in metadata("skillhub-mcp").get_all("Project-URL") or ():
        label, _, address = written.partition(",")
        if label.strip().lower() == "homepage":
            return str(address).strip()
    return None
