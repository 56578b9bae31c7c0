"""An MCP bundle (`.mcpb`) of this installation: one file that Claude Desktop and other hosts install with one click.

The host runs it with a uv of its own, which reads the bundle's pyproject.toml: our wheel comes from the bundle, and
what that depends on from the package index.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.metadata import metadata

from skillhub_mcp._util.zip_archive import ArchivedFile, archive
from skillhub_mcp.clients.wheel import DISTRIBUTION, Wheel, own_wheel

SUFFIX = ".mcpb"

_MANIFEST_VERSION = "0.4"
_ENTRY_POINT = "server/main.py"
_MAIN = '''"""Start SkillHub's server, which the host talks to over stdin and stdout."""

from skillhub_mcp.__main__ import main

main()
'''
_PYPROJECT = """\
# The environment of this bundle. The wheel is the one in `wheels`: on the package index its name belongs to another
# program, and its version is one that no index accepts.
[project]
name = "skillhub-bundle"
version = "{version}"
requires-python = "{requires_python}"
dependencies = ["{distribution}=={wheel_version}"]

[tool.uv]
package = false

[tool.uv.sources]
{distribution} = {{ path = "wheels/{file_name}" }}
"""

# What the host shows a person before the server runs; the server's own descriptions are written for a model.
_TOOLS = {
    "search_skills": "Finds the skills that fit a task.",
    "load_skill": "Returns the instructions of one skill.",
    "read_skill_file": "Returns a file that a skill's instructions name.",
}


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle: the version of the program in it, the usual name of its file and its bytes."""

    version: str
    file_name: str
    content: bytes


def make_bundle() -> Bundle:
    """Return the bundle of this installation; the same installation gives the same bytes.

    Raises SkillHubError where the installation does not tell what belongs to it, OSError where a file cannot be read.
    """
    wheel = own_wheel()
    project = _PYPROJECT.format(
        version=wheel.version,
        requires_python=wheel.requires_python,
        distribution=DISTRIBUTION,
        wheel_version=wheel.own_version,
        file_name=wheel.file_name,
    )
    manifest = json.dumps(_manifest(wheel), ensure_ascii=False, indent=2) + "\n"
    files = {
        "manifest.json": ArchivedFile(manifest.encode()),
        "pyproject.toml": ArchivedFile(project.encode()),
        _ENTRY_POINT: ArchivedFile(_MAIN.encode()),
        f"wheels/{wheel.file_name}": ArchivedFile(wheel.content),
    }
    return Bundle(wheel.version, f"skillhub-{wheel.version}{SUFFIX}", archive(files))


def _manifest(wheel: Wheel) -> dict[str, object]:
    about = metadata(DISTRIBUTION)
    return {
        "manifest_version": _MANIFEST_VERSION,
        "name": "skillhub",
        "display_name": "SkillHub",
        "version": wheel.version,
        "description": about["Summary"],
        "author": {"name": "The SkillHub founders"},
        "server": {
            "type": "uv",
            "entry_point": _ENTRY_POINT,
            # The host puts its own uv in the place of the command.
            "mcp_config": {"command": "uv", "args": ["run", "--directory", "${__dirname}", _ENTRY_POINT]},
        },
        "tools": [{"name": name, "description": description} for name, description in _TOOLS.items()],
        "keywords": re.split(r"[,\s]+", about["Keywords"] or ""),
        "license": about["License-Expression"],
        "compatibility": {
            "platforms": ["darwin", "win32", "linux"],
            "runtimes": {"python": wheel.requires_python},
        },
    }
