"""The project of a working directory, and the directories from its root down."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.hubs import hub_of

from skillhub_mcp.bootstrap.library import name_problems
from skillhub_mcp.chosen_roots import lock_option, project_of, served_projects
from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.project import DEFAULT_MARKERS, Project, directories_in, existing_directories, find_project
from skillhub_mcp.settings import read_settings


def below(directory: Path, *names: str) -> Path:
    inner = directory.joinpath(*names)
    inner.mkdir(parents=True, exist_ok=True)
    return inner


def in_environment(**variables: str) -> Project:
    settings, _ = read_settings(variables, {})
    return project_of(settings)


@pytest.mark.acceptance("S0-13")
@pytest.mark.parametrize("marker", DEFAULT_MARKERS)
@pytest.mark.parametrize("kind", ["directory", "file", "dangling link"])
def test_the_nearest_directory_with_a_marker_is_the_root(tmp_path: Path, marker: str, kind: str) -> None:
    cwd = below(tmp_path, "far", "near", "a", "b")
    (tmp_path / "far" / ".git").mkdir()
    here = tmp_path / "far" / "near" / marker
    if kind == "directory":
        here.mkdir()
    elif kind == "file":
        here.write_text("gitdir: elsewhere\n", encoding="utf-8")
    else:
        here.symlink_to("nowhere")
    near = os.path.realpath(tmp_path / "far" / "near")
    assert find_project(str(cwd)) == Project(root=near, cwd=f"{near}/a/b", chain=(near, f"{near}/a", f"{near}/a/b"))


@pytest.mark.acceptance("S0-13")
def test_the_working_directory_may_be_the_root_itself(tmp_path: Path) -> None:
    (tmp_path / ".jj").mkdir()
    here = os.path.realpath(tmp_path)
    assert find_project(str(tmp_path)) == Project(here, here, (here,))


@pytest.mark.acceptance("S0-14")
def test_without_a_marker_the_working_directory_is_the_root(tmp_path: Path) -> None:
    cwd = below(tmp_path, "a", "b")
    # No marker of these stands above any test.
    project = find_project(str(cwd), markers=["no-such-marker"])
    here = os.path.realpath(cwd)
    assert project == Project(here, here, (here,))
    assert find_project(str(cwd), markers=[]) == project


@pytest.mark.acceptance("S0-12")
def test_an_explicit_root_overrides_markers(tmp_path: Path) -> None:
    cwd = below(tmp_path, "a", "b", "c")
    (cwd / ".git").mkdir()
    root = os.path.realpath(tmp_path / "a")
    assert find_project(str(cwd), root=str(tmp_path / "a")).root == root
    assert find_project(str(cwd), root="../..").chain == (root, f"{root}/b", f"{root}/b/c")


@pytest.mark.acceptance("S0-12")
@pytest.mark.parametrize("variable", ["CODELIA_AGENTS_ROOT", "SKILLHUB_PROJECT_ROOT"])
def test_either_variable_sets_the_root(tmp_path: Path, variable: str) -> None:
    cwd = below(tmp_path, "a", "b")
    (cwd / ".git").mkdir()
    project = in_environment(**{variable: str(tmp_path), "SKILLHUB_CWD": str(cwd)})
    assert project.root == os.path.realpath(tmp_path)
    assert len(project.chain) == 3


@pytest.mark.acceptance("S0-13")
@pytest.mark.parametrize("variable", ["CODELIA_AGENTS_MARKERS", "SKILLHUB_MARKERS"])
def test_either_variable_sets_the_markers(tmp_path: Path, variable: str) -> None:
    cwd = below(tmp_path, "a", "b")
    (tmp_path / "a" / "pyproject.toml").write_text("", encoding="utf-8")
    (cwd / ".git").mkdir()
    project = in_environment(**{variable: ".hg, pyproject.toml", "SKILLHUB_CWD": str(cwd)})
    assert project.root == os.path.realpath(tmp_path / "a")


def test_outside_the_root_the_chain_is_the_root_alone(tmp_path: Path) -> None:
    cwd, root = below(tmp_path, "root-and-more"), below(tmp_path, "root")
    project = find_project(str(cwd), root=str(root))
    assert project.chain == (os.path.realpath(root),)
    assert project.cwd == os.path.realpath(cwd)


@pytest.mark.parametrize("marker", DEFAULT_MARKERS)
@pytest.mark.parametrize("place", [".", ".config", ".local/share", ".codelia"])
def test_markers_in_settings_directories_make_no_project(tmp_path: Path, marker: str, place: str) -> None:
    home = below(tmp_path, "home")
    below(home, place, marker)
    cwd = below(home, place, "editor", "plugins")
    assert find_project(str(cwd), home=str(home)).root == os.path.realpath(cwd)
    # In another user's home, the same marker makes a project.
    assert find_project(str(cwd), home=str(tmp_path / "other")).root == os.path.realpath(home / place)


def test_a_project_below_the_home_or_settings_is_found(tmp_path: Path) -> None:
    home = below(tmp_path, "home")
    (home / ".git").mkdir()
    for place in ("work", ".dotfiles", ".config/editor"):
        below(home, place, ".git")
        cwd = below(home, place, "a", "b")
        assert find_project(str(cwd), home=str(home)).root == os.path.realpath(home / place)
    # The home directory is one where a session works in it, and where the root is given.
    assert find_project(str(home), home=str(home)).root == os.path.realpath(home)
    assert find_project(str(below(home, "notes")), root=str(home), home=str(home)).root == os.path.realpath(home)


def test_a_missing_working_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting) as caught:
        in_environment(SKILLHUB_CWD=str(tmp_path / "missing"))
    assert "SKILLHUB_CWD" in caught.value.message


@pytest.mark.parametrize("variable", ["CODELIA_AGENTS_ROOT", "SKILLHUB_PROJECT_ROOT"])
def test_a_root_that_is_not_a_directory_is_refused(tmp_path: Path, variable: str) -> None:
    (tmp_path / "file").touch()
    for root in (str(tmp_path / "missing"), "file"):
        with pytest.raises(InvalidSetting) as caught:
            in_environment(**{variable: root, "SKILLHUB_CWD": str(tmp_path)})
        assert caught.value.message == f"SKILLHUB_PROJECT_ROOT={root!r} is not a directory"


@pytest.mark.parametrize("variable", ["SKILLHUB_CWD", "SKILLHUB_PROJECT_ROOT"])
def test_a_server_survives_the_removal_of_its_project(
    tmp_path: Path, hub_environment: dict[str, str], write_skill: SkillWriter, variable: str
) -> None:
    write_skill("bread", "Bakes bread.")
    project = below(tmp_path, "project")
    environment = {**hub_environment, variable: str(project)}
    settings, _ = read_settings(environment)
    with hub_of(environment) as hub:
        assert [one.name for one in hub.skills()] == ["bread"]
        project.rmdir()
        # What is asked after each sync, and with each skill that is withheld.
        assert name_problems(settings, hub.refresh().snapshot) == ()
        assert lock_option(str(tmp_path / "skills-lock.json"), settings)
    with pytest.raises(InvalidSetting):
        project_of(settings)


@pytest.mark.parametrize("place", ["/", "~", "~/.config", "~/.claude/plugins/cache/market/tool/1.0"])
def test_home_settings_and_plugin_directories_are_no_project(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    directory = os.path.expanduser(place)
    os.makedirs(directory, exist_ok=True)
    monkeypatch.chdir(directory)
    project = in_environment()
    assert (project.exists, project.chain) == (False, ())
    assert in_environment(SKILLHUB_CWD=directory).exists


def test_a_server_serves_the_projects_that_its_client_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    one, two = below(tmp_path.resolve(), "one"), below(tmp_path.resolve(), "two words")

    def served(*paths: Path | str, **explicit: str) -> list[str]:
        settings, _ = read_settings(explicit, {})
        settings.client.paths = tuple(map(str, paths))
        return [project.root for project in served_projects(settings) if project.exists]

    assert served(two, one) == [str(two), str(one)]
    assert served(two, SKILLHUB_CWD=str(one)) == [str(one)]
    assert served("/", tmp_path, two) == [str(two)]
    assert served(tmp_path) == []


def test_variables_and_roots_name_directories_that_exist(tmp_path: Path) -> None:
    one, two = below(tmp_path, "one"), below(tmp_path, "two words")
    assert directories_in({"CLAUDE_PROJECT_DIR": str(one), "CURSOR_PROJECT_DIR": str(two)}) == (str(one),)
    several = f"{tmp_path}/gone{os.pathsep}{two}{os.pathsep}{one}"
    assert directories_in({"WORKSPACE_FOLDER_PATHS": several}) == (str(two), str(one))
    unexpanded = {"CLAUDE_PROJECT_DIR": "${CLAUDE_PROJECT_DIR}", "CURSOR_PROJECT_DIR": str(two)}
    assert directories_in(unexpanded) == (str(two),)
    assert directories_in({}) == ()
    uris = [two.as_uri(), f"file://localhost{one}", "file://elsewhere/", "vscode-remote://wsl/", "relative", "\0"]
    assert existing_directories([*uris, str(two)]) == (str(two), str(one))
