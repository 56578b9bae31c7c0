"""The bundle: its bytes, its manifest, and the wheel in it."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from email.parser import HeaderParser
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import Any

import pytest

from skillhub_mcp.clients import bundle as bundling
from skillhub_mcp.clients.bundle import Bundle, make_bundle
from skillhub_mcp.version import version

PROJECT = Path(__file__).parents[2]
GOLDEN_TOOLS = PROJECT / "tests" / "golden" / "tools"


def files_of(content: bytes) -> Mapping[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        assert opened.testzip() is None
        return {name: opened.read(name) for name in opened.namelist()}


def manifest_of(bundle: Bundle) -> Any:
    return json.loads(files_of(bundle.content)["manifest.json"])


def wheel_of(bundle: Bundle) -> tuple[str, Mapping[str, bytes]]:
    """Return the name of the bundle's wheel, and its files."""
    ((name, content),) = ((name, content) for name, content in files_of(bundle.content).items() if "wheels/" in name)
    return name, files_of(content)


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return make_bundle()


@pytest.mark.slow
def test_two_runs_give_the_same_bytes(bundle: Bundle) -> None:
    assert make_bundle() == bundle


def test_the_manifest_has_this_version_and_starts_the_file_that_is_in_the_bundle(bundle: Bundle) -> None:
    files = files_of(bundle.content)
    manifest = manifest_of(bundle)
    assert manifest["version"] == bundle.version == version()
    assert (manifest["manifest_version"], manifest["server"]["type"]) == ("0.4", "uv")
    started = manifest["server"]["mcp_config"]["args"]
    assert started == ["run", "--directory", "${__dirname}", manifest["server"]["entry_point"]]
    assert started[-1] in files


def test_the_manifest_lists_the_tools_that_the_server_has(bundle: Bundle) -> None:
    listed = {tool["name"] for tool in manifest_of(bundle)["tools"]}
    assert listed == {"search_skills", "load_skill", "read_skill_file"}
    assert all((GOLDEN_TOOLS / f"{name}.json").is_file() for name in listed)


def test_the_wheel_has_the_programs_files_and_nothing_of_this_machine(bundle: Bundle) -> None:
    _, files = wheel_of(bundle)
    sources = PROJECT / "src" / "skillhub_mcp"
    for path in sources.rglob("*.py"):
        assert files[f"skillhub_mcp/{path.relative_to(sources).as_posix()}"] == path.read_bytes()
    for path in (PROJECT / "examples" / "skills").glob("*/SKILL.md"):
        assert files[f"skillhub_mcp/example_skills/{path.parent.name}/SKILL.md"] == path.read_bytes()
    odd = [
        name for name in files if "__pycache__" in name or "/." in name or name.endswith((".pyc", "direct_url.json"))
    ]
    assert odd == []
    assert str(PROJECT).encode() not in b"".join(files.values())


def test_the_wheels_record_has_the_digest_of_every_file(bundle: Bundle) -> None:
    wheel, files = wheel_of(bundle)
    (record,) = (name for name in files if name.endswith(".dist-info/RECORD"))
    recorded = dict(line.rsplit(",", 1)[0].split(",", 1) for line in files[record].decode().splitlines())
    assert recorded.keys() == files.keys()
    assert wheel.startswith(f"wheels/{record.partition('.dist-info')[0]}-")
    for name, content in files.items():
        if name != record:
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            assert recorded[name] == f"sha256={digest}"


def test_the_bundles_project_takes_a_wheel_that_no_index_accepts_from_the_bundle(bundle: Bundle) -> None:
    tomllib = pytest.importorskip("tomllib", reason="TOML is read by Python from 3.11 on")
    project = tomllib.loads(files_of(bundle.content)["pyproject.toml"].decode())
    wheel, files = wheel_of(bundle)
    (written,) = (content.decode() for name, content in files.items() if name.endswith(".dist-info/METADATA"))
    metadata = HeaderParser().parsestr(written)
    assert metadata["Name"] == "skillhub-mcp"
    assert metadata["Version"].startswith(f"{version()}+bundle.x")
    assert metadata.get_payload() == ""
    assert project["project"]["version"] == version()
    assert project["project"]["requires-python"] == metadata["Requires-Python"]
    assert project["project"]["dependencies"] == [f"skillhub-mcp=={metadata['Version']}"]
    assert project["tool"]["uv"]["sources"]["skillhub-mcp"]["path"] == wheel


def test_the_wheels_version_changes_with_its_files(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundling, "builtin_directory", lambda: str(tmp_path))
    assert wheel_of(make_bundle())[0] != wheel_of(bundle)[0]


def test_an_installed_bundle_makes_the_same_bundle(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, files = wheel_of(bundle)
    for name, content in files.items():
        place, _, file = name.partition(".dist-info/")
        if file:
            info = tmp_path / f"{place}.dist-info"
            (info / file).parent.mkdir(parents=True, exist_ok=True)
            (info / file).write_bytes(content)
    monkeypatch.setattr(bundling, "distribution", lambda _: PathDistribution(info))
    assert make_bundle() == bundle
