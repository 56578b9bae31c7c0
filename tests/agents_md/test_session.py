"""AGENTS.md in one session with several working directories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.agents_md.conftest import Write

from skillhub_mcp.agents_md.known import KnownFiles
from skillhub_mcp.agents_md.resolver import AgentsResolver
from skillhub_mcp.agents_md.session import AgentsSession


@pytest.fixture
def session(project: Path) -> AgentsSession:
    """A session whose own directory is the project's root."""

    def make(cwd: str, known: KnownFiles) -> AgentsResolver:
        return AgentsResolver(cwd or str(project), known=known)

    return AgentsSession(make)


def found(one: AgentsResolver, target: str) -> list[str]:
    return [os.path.relpath(file.path, one.project.root) for file in one.resolve(target).files]


def test_each_directory_has_one_resolver(session: AgentsSession, project: Path) -> None:
    (project / "a").mkdir()
    own, other = session.enter(), session.enter(str(project / "a"))
    assert session.current() is other
    assert session.enter() is own is session.enter(str(project)) is session.current()
    assert session.enter(f"{project}/./a") is other
    assert session.resolvers == (own, other)


def test_files_known_in_one_directory_are_known_in_all(session: AgentsSession, project: Path, write: Write) -> None:
    write("", "Root.")
    write("a", "A.")
    write("b", "B.")
    first = session.enter()
    first.initial()
    assert found(first, "a/x") == ["a/AGENTS.md"]
    second = session.enter(str(project / "b"))
    assert found(second, str(project / "a" / "x")) == []
    assert found(second, "x") == ["b/AGENTS.md"]
    assert found(first, "b/x") == []


def test_an_absolute_path_belongs_to_the_innermost_project(
    session: AgentsSession, project: Path, tmp_path: Path
) -> None:
    inner = project / "vendor" / "lib"
    (inner / ".git").mkdir(parents=True)
    (inner / "src").mkdir()
    (project / "a").mkdir()
    outer = session.enter()
    nested, deeper, beside = (session.enter(str(place)) for place in (inner, inner / "src", project / "a"))
    assert session.of_path(str(inner / "x")) is deeper
    assert session.of_path(str(project / "x")) is beside
    session.enter(str(inner))
    assert session.of_path(str(inner / "x")) is nested
    session.enter()
    assert session.of_path(str(project / "x")) is outer
    # Other and relative paths use the directory entered last.
    assert session.of_path(str(tmp_path)) is session.of_path("x") is session.of_path("../x") is outer
