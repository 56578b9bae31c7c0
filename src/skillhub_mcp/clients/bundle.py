"""Make an MCP bundle (`.mcpb`) of this installation, which Claude Desktop and other hosts install with one click.

The bundle contains a wheel of this program, made without a build tool. The host's own uv reads the bundle's
pyproject.toml: it takes the wheel from the bundle, and its dependencies from the package index.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

from skillhub_mcp._util.zip_archive import ArchivedFile, archive
from skillhub_mcp.skills.roots import builtin_directory

SUFFIX = ".mcpb"

_DISTRIBUTION = "skillhub-mcp"
_PACKAGE = "skillhub_mcp"
_TAG = "py3-none-any"
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
dependencies = ["{distribution}=={label}"]

[tool.uv]
package = false

[tool.uv.sources]
{distribution} = {{ path = "{wheel}" }}
"""
_WHEEL = f"Wheel-Version: 1.0\nGenerator: {_DISTRIBUTION}\nRoot-Is-Purelib: true\nTag: {_TAG}\n"

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
    """Return the bundle of this installation; the same files give the same bytes. Raises OSError."""
    installed = distribution(_DISTRIBUTION)
    # An installation from a bundle has a label already.
    version = installed.version.partition("+")[0]
    label, content = _wheel(installed, version)
    wheel = f"wheels/{_PACKAGE}-{label}-{_TAG}.whl"
    project = _PYPROJECT.format(
        version=version,
        requires_python=installed.metadata["Requires-Python"],
        distribution=_DISTRIBUTION,
        label=label,
        wheel=wheel,
    )
    manifest = json.dumps(_manifest(installed, version), ensure_ascii=False, indent=2) + "\n"
    texts = {"manifest.json": manifest, "pyproject.toml": project, _ENTRY_POINT: _MAIN}
    files = {name: ArchivedFile(text.encode()) for name, text in texts.items()}
    return Bundle(version, f"skillhub-{version}{SUFFIX}", archive({**files, wheel: ArchivedFile(content)}))


def _wheel(installed: Distribution, version: str) -> tuple[str, bytes]:
    """Return the version of the wheel of an installation, and the wheel.

    The version has a local label, such as `0.1.0+bundle.x5f0c`, which no package index accepts.
    """
    package = _files_below(Path(__file__).parents[1], _PACKAGE)
    # In a checkout the examples are elsewhere.
    package |= _files_below(Path(builtin_directory()), f"{_PACKAGE}/example_skills")
    # Without the README, which follows the first empty line.
    about = (installed.read_text("METADATA") or "").partition("\n\n")[0].rstrip() + "\n"
    about = re.sub(r"(?m)^Version: .*\n", "", about)
    digest = hashlib.sha256(archive({**package, "METADATA": ArchivedFile(about.encode())}, compressed=False))
    label = f"{version}+bundle.x{digest.hexdigest()[:12]}"
    texts = {"METADATA": f"{about}Version: {label}\n", "WHEEL": _WHEEL}
    # The other files of a dist-info say where and how it was installed.
    texts |= {name: installed.read_text(name) or "" for name in ("entry_points.txt", "licenses/LICENSE")}
    info = f"{_PACKAGE}-{label}.dist-info"
    files = package | {f"{info}/{name}": ArchivedFile(text.encode()) for name, text in texts.items()}
    record = f"{info}/RECORD"
    lines = [f"{name},{_record_hash(file.content)},{len(file.content)}" for name, file in sorted(files.items())]
    files[record] = ArchivedFile("".join(f"{line}\n" for line in (*lines, f"{record},,")).encode())
    # The bundle compresses it.
    return label, archive(files, compressed=False)


def _files_below(directory: Path, prefix: str) -> dict[str, ArchivedFile]:
    """Return the files below a directory, by their names in the wheel."""
    files = {}
    for path in directory.rglob("*"):
        parts = path.relative_to(directory).parts
        if path.is_file() and all(map(_belongs, parts)):
            executable = bool(path.stat().st_mode & 0o100)
            files["/".join((prefix, *parts))] = ArchivedFile(path.read_bytes(), executable)
    return files


def _belongs(name: str) -> bool:
    return not name.startswith(".") and name != "__pycache__" and not name.endswith((".pyc", "~"))


def _record_hash(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _manifest(installed: Distribution, version: str) -> dict[str, object]:
    about = installed.metadata
    return {
        "manifest_version": _MANIFEST_VERSION,
        "name": "skillhub",
        "display_name": "SkillHub",
        "version": version,
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
        "compatibility": {"platforms": ["darwin", "win32", "linux"], "runtimes": {"python": about["Requires-Python"]}},
    }
