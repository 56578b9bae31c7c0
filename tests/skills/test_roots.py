"""Roots: in order, each real directory once, for the chosen places only."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.conftest import SkillWriter

from skillhub_mcp.project import Project, find_project
from skillhub_mcp.skills.discovery import walk_roots
from skillhub_mcp.skills.roots import (
    MAX_PROJECT_DIRECTORIES,
    SkillRoot,
    Source,
    agent_context_roots,
    choose_roots,
    distinct_roots,
    make_roots,
)


def test_roots_keep_their_order_and_spelling() -> None:
    assert make_roots(["/b/x", "/a"]) == (
        SkillRoot("/b/x", "/b/x", Source.HUB, priority=1),
        SkillRoot("/a", "/a", Source.HUB, priority=2),
    )


def test_one_real_directory_is_one_root_under_its_first_name(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    given = [str(tmp_path / "link"), str(tmp_path / "real"), f"{tmp_path}/real/../real/"]
    assert make_roots(given) == (SkillRoot(given[0], given[0], target=os.path.realpath(tmp_path / "real")),)


def test_only_paths_below_a_linked_root_are_shown_by_its_name(tmp_path: Path) -> None:
    """A sibling with the same name prefix is not below the root."""
    (tmp_path / "releases" / "v1").mkdir(parents=True)
    (tmp_path / "current").symlink_to("releases/v1")
    (root,) = make_roots([str(tmp_path / "current")])
    target = os.path.realpath(tmp_path / "releases" / "v1")
    assert root.as_configured(f"{target}/skill") == f"{tmp_path}/current/skill"
    assert root.as_configured(target) == f"{tmp_path}/current"
    assert root.as_configured(f"{target}0/skill") == f"{target}0/skill"
    assert root.resolved(f"{tmp_path}/current/skill") == f"{target}/skill"
    assert root.resolved(f"{tmp_path}/current-old/skill") == f"{tmp_path}/current-old/skill"


def test_the_parent_of_a_link_is_that_of_its_target(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a/b")
    real = os.path.realpath(tmp_path)
    for written in (f"{tmp_path}/link/../skills", f"{tmp_path}/link/../x/../skills/"):
        assert [root.path for root in make_roots([written])] == [f"{real}/a/skills"]
    assert [root.path for root in make_roots([f"{tmp_path}/link/.."])] == [f"{real}/a"]


def test_the_home_directory_and_relative_paths_are_resolved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    real = os.path.realpath(tmp_path)
    assert make_roots(["~/skills", "./.agent/skills"]) == (
        SkillRoot(f"{real}/skills", "~/skills"),
        SkillRoot(f"{real}/.agent/skills", "./.agent/skills", priority=2),
    )


# Places, in order of priority


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    cwd = tmp_path / "repo" / "packages" / "one"
    cwd.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    return find_project(str(cwd))


def chosen(places: Sequence[str], project: Project, home: Path, tmp_path: Path) -> list[tuple[str, str]]:
    """The roots at `places`, as their sources and their paths below `tmp_path`."""
    top = os.path.realpath(tmp_path)
    roots = choose_roots(
        places, project=project, home=str(home), hub=[str(tmp_path / "hub")], builtin=str(tmp_path / "shipped")
    )
    assert [root.priority for root in roots] == list(range(1, len(roots) + 1))
    assert all(os.path.isabs(root.path) for root in roots)
    return [(root.source.value, os.path.relpath(root.path, top)) for root in roots]


IN_PROJECT = [("project", f"repo/{place}.agents/skills") for place in ("packages/one/", "packages/", "")]
FOR_CLAUDE = [("project", f"repo/{place}.claude/skills") for place in ("packages/one/", "packages/", "")]
OF_USER = [("user", "home/.agents/skills"), ("user", "home/.agent/skills")]


@pytest.mark.acceptance("S3-1")
@pytest.mark.parametrize(
    ("places", "expected"),
    [
        (
            ["builtin", "hub", "user", "project"],
            [*IN_PROJECT, ("project", "repo/.agent/skills"), *OF_USER, ("hub", "hub"), ("builtin", "shipped")],
        ),
        # The directories of Claude Code come last within their source.
        (
            ["project", "user", "claude"],
            [*IN_PROJECT, ("project", "repo/.agent/skills"), *FOR_CLAUDE, *OF_USER, ("user", "home/.claude/skills")],
        ),
        (["claude"], [*FOR_CLAUDE, ("user", "home/.claude/skills")]),
        (["user"], OF_USER),
        (["hub"], [("hub", "hub")]),
        (["builtin"], [("builtin", "shipped")]),
        ([], []),
    ],
)
def test_the_chosen_places_are_searched_in_order_with_the_nearest_directory_first(
    places: list[str], expected: list[tuple[str, str]], project: Project, home: Path, tmp_path: Path
) -> None:
    assert chosen(places, project, home, tmp_path) == expected


def test_in_the_home_directory_the_users_skills_are_not_a_projects(home: Path, tmp_path: Path) -> None:
    at_home = find_project(str(home), markers=[])
    assert chosen(["project", "user"], at_home, home, tmp_path) == OF_USER


def test_only_project_roots_are_bounded(project: Project, home: Path) -> None:
    roots = choose_roots(["project", "user", "hub"], project=project, home=str(home), hub=["/x"], builtin="/y")
    bounded = {root.source: root.max_directories for root in roots}
    assert bounded == {Source.PROJECT: MAX_PROJECT_DIRECTORIES, Source.USER: None, Source.HUB: None}


def test_a_directory_with_two_labels_keeps_the_first(project: Project, home: Path, tmp_path: Path) -> None:
    user = str(home / ".agent" / "skills")
    roots = choose_roots(["user", "hub"], project=project, home=str(home), hub=[user, user], builtin="/y")
    assert [root.source for root in roots] == [Source.USER, Source.USER]
    same = distinct_roots([(Source.HUB, user), (Source.USER, f"{user}/"), (Source.PROJECT, f"{user}/../skills")])
    assert same == (SkillRoot(os.path.realpath(user), user, Source.HUB, 1),)


@pytest.mark.acceptance("S0-12", "S0-13", "S0-14")
def test_codelia_places_are_the_project_directories_and_the_home(project: Project, home: Path, tmp_path: Path) -> None:
    top = os.path.realpath(tmp_path)

    def places(of: Project) -> list[tuple[str, str]]:
        return [(r.source.value, os.path.relpath(r.path, top)) for r in agent_context_roots(of, home=str(home))]

    user = ("user", "home/.agents/skills")
    inner = ("project", "repo/packages/one/.agents/skills")
    middle = ("project", "repo/packages/.agents/skills")
    # With a marker, a given root, or neither: nothing above the root is searched.
    assert places(project) == [inner, middle, ("project", "repo/.agents/skills"), user]
    assert places(find_project(project.cwd, root="..")) == [inner, middle, user]
    assert places(find_project(project.cwd, markers=[])) == [inner, user]
    assert places(find_project(str(home), markers=[])) == [user]


@pytest.mark.acceptance("S0-13")
def test_skills_above_the_nearest_marker_are_not_found(
    project: Project, home: Path, tmp_path: Path, write_skill: SkillWriter
) -> None:
    (tmp_path / ".git").mkdir()
    write_skill("above", root=tmp_path / ".agents" / "skills")
    write_skill("of-the-repo", root=tmp_path / "repo" / ".agents" / "skills")
    write_skill("beside", root=tmp_path / "repo" / "other" / ".agents" / "skills")
    walk = walk_roots(agent_context_roots(project, home=str(home)))
    assert [found.name for found in walk.found] == ["of-the-repo"]
    assert walk.problems == ()


def test_recorded_directories_come_last_and_only_the_hubs_must_exist(tmp_path: Path) -> None:
    code, home = str(tmp_path / "code"), str(tmp_path / "home")

    def chosen(*places: str) -> list[tuple[str, str, bool, bool]]:
        roots = choose_roots(
            places,
            project=Project(code, code, (code,)),
            home=home,
            hub=["/hub"],
            hub_given=False,
            builtin="/builtin",
            recorded=["/team", f"{home}/.agents/skills"],
            recorded_in_project=[f"{code}/vendor"],
        )
        return [
            (root.path.removeprefix(str(tmp_path)), root.source.value, root.recorded, root.optional) for root in roots
        ]

    assert chosen("project", "user", "hub") == [
        ("/code/.agents/skills", "project", False, True),
        ("/code/.agent/skills", "project", False, True),
        ("/code/vendor", "project", True, True),
        # A default place of the user needs no record.
        ("/home/.agents/skills", "user", False, True),
        ("/home/.agent/skills", "user", False, True),
        ("/hub", "hub", False, True),
        ("/team", "hub", True, False),
    ]
    assert chosen("user") == [
        ("/home/.agents/skills", "user", False, True),
        ("/home/.agent/skills", "user", False, True),
    ]
