"""The location of the skills that ship with the package, for the demo and for the optional root `builtin`."""

from __future__ import annotations

from pathlib import Path


def builtin_directory() -> str:
    """Return the directory of the skills that ship with the package, in an installation or in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "example_skills"
    return str(installed if installed.is_dir() else package.parents[1] / "examples" / "skills")
