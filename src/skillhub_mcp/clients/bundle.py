"""Make an MCP bundle (`.mcpb`) of this installation, which Claude Desktop and other hosts install with one click.

The host's own uv reads the bundle's pyproject.toml: it takes our wheel from the bundle, and its dependencies from the
package index.
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
# On the package index, the wheel's name belongs to another program.
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

# Shown by the host before the server runs.
_TOOLS = {
    "search_skills": "Finds the skills that fit a task.",
    "load_skill": "Returns the instructions of one skill.",
    "read_skill_file": "Returns a file that a skill's instructions name.",
}


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle: the version of the program in it, its file name and its bytes."""

    version: str
    file_name: str
    content: bytes


def make_bundle() -> Bundle:
    """Return the bundle of this installation; the same files give the same bytes. Raises SkillHubError, OSError."""
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
        "compatibility": {"platforms": ["darwin", "win32", "linux"], "runtimes": {"python": wheel.requires_python}},
    }
