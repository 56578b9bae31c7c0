"""The installed package: its commands, its version, the Python it requires, and its Python API."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
from importlib.metadata import entry_points, metadata
from pathlib import Path

import pytest

import skillhub_mcp
from skillhub_mcp.version import version

PROJECT = Path(__file__).parents[1]
COMMANDS = ("skillhub", "skillhub-mcp")


@pytest.mark.acceptance("S2-1")
@pytest.mark.parametrize("command", COMMANDS)
def test_both_commands_run_one_program(command: str) -> None:
    (entry,) = entry_points(group="console_scripts", name=command)
    assert entry.value == "skillhub_mcp.__main__:main"
    done = subprocess.run(
        [Path(sysconfig.get_path("scripts")) / command, "--version"],
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == (f"skillhub-mcp {version()}\n", "")


@pytest.mark.acceptance("S2-1")
def test_the_package_installs_on_python_3_10_and_newer() -> None:
    assert metadata("skillhub-mcp")["Requires-Python"] == ">=3.10"
    assert sys.version_info >= (3, 10)


@pytest.mark.acceptance("S2-2")
def test_the_version_is_the_same_everywhere() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", version())
    assert skillhub_mcp.__version__ == metadata("skillhub-mcp")["Version"] == version()
    assert f'\nversion = "{version()}"\n' in (PROJECT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_registry_file_is_unpublished_and_has_the_version() -> None:
    server = json.loads((PROJECT / "server.json").read_text(encoding="utf-8"))
    (package,) = server["packages"]
    assert server["$schema"].endswith("/2025-12-11/server.schema.json")
    assert server["version"] == package["version"] == version()
    assert package["identifier"].endswith(f"/skillhub-{version()}.mcpb")
    assert server["_meta"]["io.modelcontextprotocol.registry/publisher-provided"]["published"] is False
    # Reserved names, which nobody can own: until the name is settled, no registry and no client takes it for ours.
    assert server["name"].startswith("example.")
    assert ".example/" in package["identifier"]
    assert package["registryType"] != "pypi"
    # What the registry demands of a file.
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert 1 <= len(server["description"]) <= 100


@pytest.mark.acceptance("S2-2")
def test_the_changelogs_newest_heading_is_this_version() -> None:
    changelog = PROJECT / "CHANGELOG.md"
    if not changelog.is_file():
        pytest.skip("the changelog is not beside these tests")
    headings = re.findall(r"^## \[?(\S+?)\]?(?: .*)?$", changelog.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == version()


def test_every_public_name_is_importable() -> None:
    for name in skillhub_mcp.__all__:
        assert getattr(skillhub_mcp, name).__name__ == name
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = skillhub_mcp.no_such_name


def test_the_distribution_has_no_address_yet() -> None:
    """What has a public address is named; a repository of ours has none, so one of that name is somebody else's."""
    urls = dict(entry.split(", ", 1) for entry in metadata("skillhub-mcp").get_all("Project-URL") or ())
    assert urls == {
        "Agent Skills specification": "https://agentskills.io",
        "Model Context Protocol": "https://modelcontextprotocol.io",
    }


def test_the_python_api_leaves_the_environment_of_the_program_alone() -> None:
    """A program that embeds the API and runs a FastMCP server of its own keeps its own settings for that."""
    code = "import os; before = dict(os.environ); import skillhub_mcp.api; assert dict(os.environ) == before | ALLOWED"
    allowed = {
        "LANCEDB_LOG": "error",
        "LANCE_DEFAULT_IO_BUFFER_SIZE": str(16 << 20),
        "LANCE_DEFAULT_BATCH_SIZE": "512",
    }
    subprocess.run([sys.executable, "-c", code.replace("ALLOWED", repr(allowed))], check=True, timeout=60)


EARLY = ("__future__", "typing", "re", "json", "argparse", "dataclasses", "yaml", "numpy", "fastmcp")
# What `python -m` itself imports before any program can say anything: `-P` does, from Python 3.11 on.
BEFORE_ALL = ("contextlib", "skillhub_mcp")


@pytest.mark.parametrize(
    "words",
    [
        pytest.param([str(Path(sysconfig.get_path("scripts")) / "skillhub-mcp")], id="the command"),
        pytest.param([sys.executable, "-m", "skillhub_mcp"], id="the module"),
        pytest.param([sys.executable, str(Path(skillhub_mcp.__file__).with_name("__main__.py"))], id="the file"),
    ],
)
def test_no_module_of_the_working_directory_is_imported(words: list[str], tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    code = f"open({str(taken)!r}, 'a').write(__name__ + ' ')\n"
    for name in (*EARLY, *(() if "-m" in words else BEFORE_ALL)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(code, encoding="utf-8")
    command = [*words, "list", "--json", "--skills-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False, timeout=60)
    assert done.stdout.startswith("{"), done.stderr
    assert not taken.exists(), taken.read_text(encoding="utf-8")


def test_no_two_modules_share_a_name_within_a_package() -> None:
    """A module and a package of one name would be two things by one import path."""
    files = Path(skillhub_mcp.__file__).parent.rglob("*.py")
    modules = {path.with_suffix("") for path in files if path.name != "__init__.py"}
    assert [str(path) for path in sorted(modules) if path.is_dir()] == []
