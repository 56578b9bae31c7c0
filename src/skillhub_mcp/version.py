"""The version and homepage of the package, from the metadata of the installed distribution."""

from __future__ import annotations

from functools import cache


@cache
def version() -> str:
    """Return the version of the installed distribution, such as `0.1.0`."""
    from importlib.metadata import version as distribution_version

    return distribution_version("skillhub-mcp")


@cache
def homepage() -> str | None:
    """Return the URL of the project's homepage, or None if the distribution names none."""
    from importlib.metadata import metadata

    for entry in metadata("skillhub-mcp").get_all("Project-URL") or ():
        label, _, url = entry.partition(",")
        if label.strip().lower() == "homepage":
            return str(url).strip()
    return None
