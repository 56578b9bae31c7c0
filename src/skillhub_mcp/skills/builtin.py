"""Where are the skills that ship with the package? They serve the demo, and as the root `builtin` whoever asks."""

from __future__ import annotations

from pathlib import Path


def builtin_directory() -> str:
    """Return the directory of the skills that ship with the package, wherever it is installed or checked out."""
    package = Path(__file__).parents[1]
    installed = package / "example_skills"
    return str(installed if installed.is_dir() else package.parents[1] / "examples" / "skills")
