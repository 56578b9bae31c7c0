"""The AGENTS.md tools through real clients: directories, paths over HTTP, and resumed sessions."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.server.connections import Caller, modes, reached, two_ways
from tests.server.sessions import Answer

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


@pytest.fixture
def project(project: Path) -> Path:
    """A project with AGENTS.md at its root and below, and a working directory below its root."""
    (project / "here").mkdir()
    for directory in ("", "a", "a/deep", "here/sub"):
        write(project, directory, f"Rules of {directory or 'the root'}.\n", mtime=1_000)
    return project


def write(root: Path, directory: str, text: str, *, mtime: int) -> None:
    path = root / directory / "AGENTS.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (mtime, mtime))


@pytest.fixture
def environment(hub_environment: dict[str, str], project: Path) -> dict[str, str]:
    return {**hub_environment, "SKILLHUB_TOOLS": "agents", "SKILLHUB_CWD": str(project / "here")}


def handle_of(said: Answer) -> str:
    """The handle of a session, as a model reads it."""
    (handle,) = re.findall(r"^session: (\S+) ", said.texts[-1])
    return str(handle)


async def named_directories(hub: Caller, path: str) -> list[str]:
    """The directories of the AGENTS.md that resolving a path names, the root as "repo"."""
    said = await hub.call("agents_resolve", path=path)
    assert said.code is None
    return [os.path.basename(os.path.dirname(file["path"])) or "repo" for file in said.structured["files"]]


@two_ways
@pytest.mark.acceptance("S1-25", "S1-33")
async def test_a_session_continues_after_a_restart(
    way: tuple[str, str], environment: dict[str, str], project: Path
) -> None:
    # Over HTTP paths start at the project's root.
    start = "" if way[0] == "http" else f"{project}/"

    async def later(resume: str, cwd: str) -> str:
        async with reached(way, {**environment, "SKILLHUB_CWD": str(project / cwd)}) as hub:
            said = await hub.call("agents_resume_diff", resume=resume)
            assert said.text.startswith('<system-reminder type="session.resume.diff">')
            assert ("- cwd: here -> a/deep" if way[0] == "http" else f"- cwd: {project}/here -> {project}/a/deep") in (
                said.text
            )
            # New and changed files from the root to the working directory.
            named = re.findall(r"^- (\S*AGENTS\.md) \(mtime: \d+\)$", said.text, re.MULTILINE)
            assert named == [f"{start}AGENTS.md", f"{start}a/deep/AGENTS.md"]
            # Neither files in the reminder nor unchanged ones.
            for path in ("x.py", "a/x.py", "a/deep/x.py"):
                assert await named_directories(hub, f"{start}{path}") == []
            # Files that are new to the session or have changed.
            assert await named_directories(hub, f"{start}here/sub/x.py") == ["sub"]
            write(project, "a", "Other rules.\n", mtime=3_000)
            assert await named_directories(hub, f"{start}a/x.py") == ["a"]
            return handle_of(said)

    async def last(resume: str) -> None:
        async with reached(way, {**environment, "SKILLHUB_CWD": str(project / "a" / "deep")}) as hub:
            assert (await hub.call("agents_resume_diff", resume=resume)).text == "Nothing has changed since."
            for path in ("x.py", "a/deep/x.py", "here/sub/x.py"):
                assert await named_directories(hub, f"{start}{path}") == []

    async with reached(way, environment) as hub:
        begun = await hub.call("agents_context")
        assert "Rules of the root." in begun.text
        assert await named_directories(hub, f"{start}a/x.py") == ["a"]
        handle = handle_of(begun)
    write(project, "", "New rules of the root.\n", mtime=2_000)
    newer = await later(handle, "a/deep")
    assert newer != handle
    await last(newer)


@modes
@pytest.mark.acceptance("S1-26", "S1-28")
async def test_over_http_paths_are_project_relative_and_readable_by_a_tool(
    mode: str, environment: dict[str, str], project: Path, tmp_path: Path
) -> None:
    write(project, "a/deep", "é" * 20_000, mtime=1_000)
    (tmp_path / "AGENTS.md").write_text("Of no project.", encoding="utf-8")
    (project / "link").mkdir()
    (project / "link" / "AGENTS.md").symlink_to(tmp_path / "AGENTS.md")
    (project / "secret").write_text("The key.", encoding="utf-8")

    async with reached(("http", mode), environment) as hub:
        begun = await hub.call("agents_context")
        assert "Instructions from: AGENTS.md\nRules of the root." in begun.text
        said = await hub.call("agents_resolve", path="a/deep/x.py")
        named = [file["path"] for file in said.structured["files"]]
        assert named == ["a/AGENTS.md", "a/deep/AGENTS.md"]
        # A reported path is accepted, and its file counts as reported.
        assert await named_directories(hub, named[0]) == []
        assert (await hub.call("agents_read", path=named[0])).text == (
            '<agents_context scope="path">\nInstructions from: a/AGENTS.md\nRules of a.\n</agents_context>'
        )
        # A long one comes in pieces.
        piece = (await hub.call("agents_read", path=named[1])).text
        assert "<note>a/deep/AGENTS.md has 40,000 bytes: go on with offset=32768</note>" in piece
        rest = (await hub.call("agents_read", path=named[1], offset=32_768)).text
        assert (piece + rest).count("é") == 20_000
        assert "<note>" not in rest
        # A file that was read is not reported again.
        assert "Rules of here/sub." in (await hub.call("agents_read", path="here/sub/AGENTS.md")).text
        assert await named_directories(hub, "here/sub/x") == []
        # Nothing else can be read, and no answer reveals other files.
        paths = ("secret", "a", "none/AGENTS.md", "../AGENTS.md", "link/AGENTS.md", "a/../../AGENTS.md")
        refused = [await hub.call("agents_read", path=path) for path in paths]
        assert len({(one.code, one.text) for one in refused}) == 1
        assert refused[0].code == "INVALID_ARGUMENT"
        assert "outside" in (await hub.call("agents_resolve", path="../x")).text
        # The client's checkout is elsewhere: an absolute path must not look like "nothing applies".
        for tool in ("agents_resolve", "agents_read"):
            assert (await hub.call(tool, path=str(project / "a"))).text == (
                "INVALID_ARGUMENT: path is absolute. Pass it from the project's root, as paths are given."
            )
        beyond = await hub.call("agents_read", path=named[1], offset=40_000)
        assert (beyond.code, "the offset that the last answer named" in beyond.text) == ("INVALID_ARGUMENT", True)
