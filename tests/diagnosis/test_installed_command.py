"""The owner of the `skillhub-mcp` command on PATH, with another distribution of that name installed."""

from __future__ import annotations

import os
import sysconfig
from importlib.metadata import metadata
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter

from skillhub_mcp.clients.model import StdioServer
from skillhub_mcp.clients.ownership import starts_skillhub
from skillhub_mcp.diagnosis import installed_command
from skillhub_mcp.diagnosis.installed_command import CommandOwner, command_on_path, own_command
from skillhub_mcp.version import version

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a script is no command there")

STRANGER = "Somebody else's hub."


def install(environment: Path, *, version: str, summary: str) -> Path:
    """Create what an installer leaves of a program with our command; return the directory of its commands."""
    scripts = environment / "bin"
    scripts.mkdir(parents=True)
    (scripts / "skillhub-mcp").write_text("#!/bin/sh\n", encoding="utf-8")
    (scripts / "skillhub-mcp").chmod(0o755)
    info = environment / "lib" / "python3.12" / "site-packages" / f"skillhub_mcp-{version}.dist-info"
    info.mkdir(parents=True)
    facts = f"Metadata-Version: 2.1\nName: skillhub-mcp\nVersion: {version}\nSummary: {summary}\n"
    (info / "METADATA").write_text(facts, encoding="utf-8")
    entry = "[console_scripts]\nskillhub-mcp = skillhub_mcp.__main__:main\n"
    (info / "entry_points.txt").write_text(entry, encoding="utf-8")
    return scripts


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """The directory of commands of an environment that holds another program of our name."""
    return install(tmp_path / "stranger", version="7.0.1", summary=STRANGER)


def test_the_command_of_this_installation_is_recognised() -> None:
    scripts = sysconfig.get_path("scripts")
    found = command_on_path(path=scripts)
    assert found is not None
    assert (found.path, found.owner) == (own_command(), CommandOwner.THIS)
    assert (found.distribution, found.version) == ("skillhub-mcp", version())


def test_a_link_to_the_command_leads_to_its_distribution(stranger: Path, tmp_path: Path) -> None:
    links = tmp_path / "links"
    links.mkdir()
    (links / "skillhub-mcp").symlink_to(stranger / "skillhub-mcp")
    found = command_on_path(path=str(links))
    assert found is not None
    assert (found.path, found.version) == (str(links / "skillhub-mcp"), "7.0.1")
    assert (found.distribution, found.summary) == ("skillhub-mcp", STRANGER)
    assert found.owner is CommandOwner.OTHER_PROGRAM


def test_another_installation_of_this_program_is_recognised(tmp_path: Path) -> None:
    summary = metadata("skillhub-mcp")["Summary"]
    found = command_on_path(path=str(install(tmp_path / "same", version="0.0.9", summary=summary)))
    assert found is not None
    assert (found.version, found.owner) == ("0.0.9", CommandOwner.SAME_PROGRAM)


def test_a_missing_command_differs_from_one_without_a_distribution(tmp_path: Path) -> None:
    assert command_on_path(path=str(tmp_path)) is None
    script = tmp_path / "skillhub-mcp"
    script.write_text("#!/bin/sh\n", encoding="utf-8")
    script.chmod(0o755)
    found = command_on_path(path=str(tmp_path))
    assert found is not None
    assert (found.distribution, found.owner) == ("", CommandOwner.UNKNOWN)


def test_doctor_reports_another_program_first_on_path_and_how_to_fix_it(
    skillhub: Skillhub, write_skill: SkillWriter, stranger: Path
) -> None:
    write_skill("painter")
    done = skillhub("doctor", PATH=str(stranger))
    assert done.code == 1
    assert (
        f"\nproblem  {stranger}/skillhub-mcp\n  belongs to another program: skillhub-mcp 7.0.1 ({STRANGER})\n"
        f"  → put this installation's directory of commands first on PATH, or give clients the command {own_command()}"
    ) in done.out
    as_json = skillhub("doctor", "--json", PATH=str(stranger)).json
    assert as_json["command"] == {"path": f"{stranger}/skillhub-mcp", "owner": "another program"}
    assert [problem["subject"] for problem in as_json["problems"]] == [f"{stranger}/skillhub-mcp"]


def test_an_installation_without_a_command_is_started_by_its_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(installed_command, "own_command", lambda: None)
    program, *words = installed_command.lasting_command()
    assert Path(words[0]).is_file()
    # Not as a module, which Python would look for in the project first.
    assert "-m" not in words
    assert starts_skillhub(StdioServer(program, tuple(words)))
    assert starts_skillhub(StdioServer("python.exe", (r"C:\py\Lib\site-packages\skillhub_mcp\__main__.py",)))
    assert not starts_skillhub(StdioServer(program, ("/x/other/__main__.py",)))
