"""The bundle: its bytes, its manifest, and the wheel in it."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from email.parser import HeaderParser
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from skillhub_mcp._util.zip_archive import ArchivedFile, archive
from skillhub_mcp.clients import wheel
from skillhub_mcp.clients.bundle import Bundle, make_bundle
from skillhub_mcp.clients.wheel import make_wheel, own_wheel
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.version import version

PROJECT = Path(__file__).parents[2]
GOLDEN_TOOLS = PROJECT / "tests" / "golden" / "tools"
METADATA = b"Metadata-Version: 2.4\nName: skillhub-mcp\nVersion: 9.9\nRequires-Python: >=3.10\n\nVersion: of the text\n"


def files_of(content: bytes) -> Mapping[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        assert opened.testzip() is None
        return {name: opened.read(name) for name in opened.namelist()}


def manifest_of(content: bytes) -> Any:
    return json.loads(files_of(content)["manifest.json"])


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return make_bundle()


@pytest.mark.slow
def test_two_runs_give_the_same_bytes(bundle: Bundle) -> None:
    assert make_bundle() == bundle


def test_an_archive_does_not_depend_on_the_order_of_its_files_and_keeps_what_is_executable() -> None:
    files = {"b/run": ArchivedFile(b"run", executable=True), "a.txt": ArchivedFile(b"text")}
    made = archive(files)
    assert made == archive(dict(reversed(files.items())))
    with zipfile.ZipFile(io.BytesIO(made)) as opened:
        modes = {entry.filename: oct(entry.external_attr >> 16) for entry in opened.infolist()}
    assert modes == {"a.txt": "0o100644", "b/run": "0o100755"}


def test_the_manifest_has_this_version_and_starts_the_file_that_is_in_the_bundle(bundle: Bundle) -> None:
    files = files_of(bundle.content)
    manifest = manifest_of(bundle.content)
    assert manifest["version"] == bundle.version == version()
    assert (manifest["manifest_version"], manifest["server"]["type"]) == ("0.4", "uv")
    started = manifest["server"]["mcp_config"]["args"]
    assert started == ["run", "--directory", "${__dirname}", manifest["server"]["entry_point"]]
    assert started[-1] in files


def test_the_manifest_lists_the_tools_that_the_server_has(bundle: Bundle) -> None:
    listed = {tool["name"] for tool in manifest_of(bundle.content)["tools"]}
    assert listed == {"search_skills", "load_skill", "read_skill_file"}
    assert all((GOLDEN_TOOLS / f"{name}.json").is_file() for name in listed)


def test_the_wheel_has_the_programs_files_and_nothing_of_this_machine() -> None:
    files = files_of(own_wheel().content)
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


def test_the_wheels_record_has_the_digest_of_every_file() -> None:
    made = own_wheel()
    files = files_of(made.content)
    (record,) = (name for name in files if name.endswith(".dist-info/RECORD"))
    recorded = dict(line.rsplit(",", 1)[0].split(",", 1) for line in files[record].decode().splitlines())
    assert recorded.keys() == files.keys()
    assert made.file_name.startswith(record.partition(".dist-info")[0])
    for name, content in files.items():
        if name != record:
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            assert recorded[name] == f"sha256={digest}"


def test_the_wheels_version_is_one_that_no_index_accepts_and_differs_with_the_files() -> None:
    package = {"skillhub_mcp/__init__.py": ArchivedFile(b"one")}
    first = make_wheel(package, {"METADATA": ArchivedFile(METADATA)}, "9.9")
    second = make_wheel({"skillhub_mcp/__init__.py": ArchivedFile(b"two")}, {"METADATA": ArchivedFile(METADATA)}, "9.9")
    assert first.own_version.startswith("9.9+bundle.x")
    assert first.own_version != second.own_version
    assert first.requires_python == ">=3.10"
    written = files_of(first.content)[f"skillhub_mcp-{first.own_version}.dist-info/METADATA"].decode()
    message = HeaderParser().parsestr(written)
    assert (message["Name"], message["Version"], message.get_payload()) == ("skillhub-mcp", first.own_version, "")


def test_a_wheel_made_from_an_installed_bundle_is_the_same() -> None:
    package = {"skillhub_mcp/__init__.py": ArchivedFile(b"one")}
    first = make_wheel(package, {"METADATA": ArchivedFile(METADATA)}, "9.9")
    labelled = files_of(first.content)[f"skillhub_mcp-{first.own_version}.dist-info/METADATA"]
    assert make_wheel(package, {"METADATA": ArchivedFile(labelled)}, "9.9") == first


def test_an_installation_that_does_not_list_its_files_is_refused_with_a_fix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(name: str) -> Distribution:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(wheel, "distribution", unknown)
    with pytest.raises(SkillHubError, match="skillhub-mcp is not installed"):
        own_wheel()


def test_an_installation_without_a_record_is_refused_with_a_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "skillhub_mcp-9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_bytes(METADATA)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SkillHubError, match="does not list its files") as refused:
        own_wheel()
    assert refused.value.hint == "install SkillHub again with pip or uv"


def test_the_bundles_project_takes_the_wheel_from_the_bundle(bundle: Bundle) -> None:
    tomllib = pytest.importorskip("tomllib", reason="TOML is read by Python from 3.11 on")
    files = files_of(bundle.content)
    project = tomllib.loads(files["pyproject.toml"].decode())
    made = own_wheel()
    assert project["project"]["version"] == version()
    assert project["project"]["dependencies"] == [f"skillhub-mcp=={made.own_version}"]
    assert files[project["tool"]["uv"]["sources"]["skillhub-mcp"]["path"]] == made.content
