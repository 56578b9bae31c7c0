"""AGENTS.md in one session: the root, the initial load, later paths, and resuming."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.agents_md.conftest import Write

from skillhub_mcp.agents_md.resolver import AgentsResolver
from skillhub_mcp.agents_md.schema import AgentsConfig, AgentsFile, AgentsState
from skillhub_mcp.errors import InvalidArgument


def resolver(cwd: Path, **config: object) -> AgentsResolver:
    return AgentsResolver(str(cwd), config=AgentsConfig.model_validate(config))


def found(one: AgentsResolver, target: str) -> list[str]:
    return [os.path.relpath(file.path, one.project.root) for file in one.resolve(target).files]


@pytest.mark.acceptance("S1-5", "S1-6", "S1-7", "S1-8")
def test_the_root_is_the_override_or_the_nearest_marker(tmp_path: Path) -> None:
    top = tmp_path.resolve() / "top"
    deep = top / "a" / "b"
    deep.mkdir(parents=True)
    (top / ".git").write_text("gitdir: elsewhere", encoding="utf-8")
    (top / "a" / "package.json").write_text("{}", encoding="utf-8")
    assert resolver(deep).project.root == str(top)
    assert resolver(top).project.root == str(top)
    assert resolver(deep, root={"markers": ["package.json", ".hg"]}).project.root == str(top / "a")
    assert resolver(deep, root={"markers": []}).project.root == str(deep)
    assert resolver(deep, root={"markers": [".hg"]}).project.root == str(deep)
    override = resolver(deep, root={"projectRootOverride": str(tmp_path), "markers": ["package.json"]})
    assert override.project.root == str(tmp_path.resolve())


@pytest.mark.acceptance("S1-9")
def test_settings_in_the_home_do_not_make_it_a_project(tmp_path: Path) -> None:
    home = tmp_path.resolve() / "home"
    for directory in (".codelia", ".config/.git", ".config/.codelia", ".config/editor", "work"):
        (home / directory).mkdir(parents=True)
    for directory in ("", ".config"):
        (home / directory / "AGENTS.md").write_text("Of no project.", encoding="utf-8")
    for directory in ("work", ".config/editor", ".codelia"):
        place = str(home / directory)
        one = AgentsResolver(place, home=str(home))
        assert one.project.root == place
        assert one.initial().text == ""


@pytest.mark.acceptance("S1-10")
def test_the_sandbox_root_does_not_change_the_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODELIA_SANDBOX_ROOT", "/")
    assert resolver(project).project.root == str(project)


@pytest.mark.acceptance("S1-11", "S1-17", "S1-25", "S1-37")
def test_the_initial_block_is_read_once(project: Path, write: Write) -> None:
    write("", "Root.", mtime_ms=1_000)
    write("packages/foo", "Foo.", mtime_ms=2_000)
    one = resolver(project / "packages" / "foo")
    first = one.initial()
    assert first.text == (
        f'<agents_context scope="initial">\nInstructions from: {project}/AGENTS.md\nRoot.\n\n'
        f"Instructions from: {project}/packages/foo/AGENTS.md\nFoo.\n</agents_context>"
    )
    assert one.state.covered == (str(project), str(project / "packages" / "foo"))
    assert one.state.loaded == {f"{project}/AGENTS.md": 1_000, f"{project}/packages/foo/AGENTS.md": 2_000}
    write("", "Other.", mtime_ms=9_000)
    (project / "packages" / "foo" / "AGENTS.md").unlink()
    assert one.initial().text == first.text


@pytest.mark.acceptance("S1-18", "S1-27")
def test_a_disabled_resolver_returns_nothing(project: Path, write: Write) -> None:
    write("a")
    off = resolver(project / "a", enabled=False)
    assert off.initial().text == ""
    assert off.resolve("x").files == ()
    assert off.resume_diff(off.state) == ""
    quiet = resolver(project, resolver={"enabled": False})
    assert quiet.resolve("a/x").files == ()


@pytest.mark.acceptance("S1-19", "S1-20", "S1-22", "S1-25", "S1-40")
def test_new_files_for_a_path_are_returned_once(project: Path, write: Write) -> None:
    write("", "Root.", mtime_ms=1_000)
    write("feature", "Feature.", mtime_ms=2_000)
    write("feature/sub", "Sub.", mtime_ms=3_000)
    write("other", "Other.")
    (project / "feature" / "sub" / "x.py").write_text("", encoding="utf-8")
    one = resolver(project)
    one.initial()
    files = one.resolve("feature/sub/x.py").files
    assert files == (
        AgentsFile(path=f"{project}/feature/AGENTS.md", mtimeMs=2_000, sizeBytes=8),
        AgentsFile(path=f"{project}/feature/sub/AGENTS.md", mtimeMs=3_000, sizeBytes=4),
    )
    assert "Feature." not in repr(files)
    assert found(one, "feature/sub/y.py") == []
    assert found(one, "feature") == []
    assert set(one.state.covered) == {str(project), f"{project}/feature", f"{project}/feature/sub"}


@pytest.mark.acceptance("S1-23")
def test_a_changed_file_is_returned_again(project: Path, write: Write) -> None:
    write("", "Root.", mtime_ms=1_000)
    one = resolver(project)
    one.initial()
    assert found(one, "x") == []
    write("", "Root, changed.", mtime_ms=2_000)
    assert found(one, "x") == ["AGENTS.md"]
    assert found(one, "x") == []


@pytest.mark.acceptance("S1-21", "S1-28")
def test_a_target_may_be_missing_or_a_directory(project: Path, write: Write) -> None:
    write("a")
    for target in ("a/new/deep/file.py", "a", str(project / "a"), str(project / "a" / "x"), "./a/../a/x", "a/"):
        one = resolver(project)
        assert found(one, target) == ["a/AGENTS.md"], target


@pytest.mark.acceptance("S1-24")
def test_a_call_returns_a_limited_number_of_files(project: Path, write: Write) -> None:
    for directory in ("", "a", "a/b"):
        write(directory)
    one = resolver(project, resolver={"maxFilesPerResolve": 2})
    assert found(one, "a/b/x") == ["AGENTS.md", "a/AGENTS.md"]
    assert found(one, "a/b/x") == ["a/b/AGENTS.md"]
    assert found(one, "a/b/x") == []


@pytest.mark.acceptance("S1-26")
@pytest.mark.parametrize("target", ["..", "../other/x", "/etc/hosts", "/", "link/x"])
def test_targets_outside_the_root_have_no_files(project: Path, write: Write, target: str) -> None:
    (project.parent / "other").mkdir()
    (project.parent / "other" / "AGENTS.md").write_text("Not mine.", encoding="utf-8")
    (project / "link").symlink_to(project.parent / "other")
    one = resolver(project)
    assert not one.is_inside(target)
    assert one.resolve(target).files == ()


@pytest.mark.acceptance("S1-20")
def test_reading_an_agents_md_marks_it_as_known(project: Path, write: Write) -> None:
    write("", "Root.")
    write("a", "A.")
    one = resolver(project)
    one.initial()
    assert found(one, "a/AGENTS.md") == []
    assert found(one, "a/x") == []


def test_cycles_pipes_and_outward_links_are_ignored(project: Path, write: Write, tmp_path: Path) -> None:
    (project / "loop").symlink_to(project)
    (project / "a").mkdir()
    os.mkfifo(project / "a" / "AGENTS.md")
    (project / "b").mkdir()
    (tmp_path / "secret").write_text("s", encoding="utf-8")
    (project / "b" / "AGENTS.md").symlink_to(tmp_path / "secret")
    (project / "c").mkdir()
    (project / "c" / "AGENTS.md").symlink_to("AGENTS.md")
    one = resolver(project)
    for target in ("loop/loop/a/x", "a/x", "b/x", "c/x"):
        assert found(one, target) == []
    assert one.initial().text == ""
    with pytest.raises(InvalidArgument, match="NUL"):
        one.resolve("a\0b")


@pytest.mark.acceptance("S1-25")
def test_sessions_are_separate_and_can_be_resumed(project: Path, write: Write) -> None:
    write("a")
    one, other = resolver(project), resolver(project)
    assert found(one, "a/x") == ["a/AGENTS.md"]
    assert found(other, "a/x") == ["a/AGENTS.md"]
    saved = AgentsState.model_validate_json(one.state.model_dump_json())
    assert found(AgentsResolver(str(project), state=saved), "a/x") == []


@pytest.mark.acceptance("S1-12", "S1-22")
def test_a_blank_file_is_noted_once(project: Path, write: Write) -> None:
    write("", " \n\t\n")
    write("a", "")
    one = resolver(project)
    assert [note.message for note in one.initial().notes] == ["is empty"]
    assert found(one, "x") == []
    assert found(one, "a/x") == []
    # Also after resuming.
    later = resolver(project)
    assert later.resume_diff(one.state) == ""
    assert found(later, "x") == []


@pytest.mark.acceptance("S1-11", "S1-22")
def test_a_file_with_two_names_is_returned_once(project: Path, write: Write) -> None:
    first = write("", "Same.")
    for directory in ("a", "a/b"):
        (project / directory).mkdir()
    os.link(first, project / "a" / "AGENTS.md")
    (project / "a" / "b" / "AGENTS.md").symlink_to("../../AGENTS.md")
    assert found(resolver(project), "a/b/x") == ["AGENTS.md"]
    one = resolver(project)
    one.initial()
    assert found(one, "a/b/x") == []
    moved = resolver(project / "a" / "b")
    moved.initial()
    assert moved.initial().text.count("Same.") == 1
    assert found(moved, "x") == []


def test_only_an_agents_md_can_be_read(project: Path, write: Write, tmp_path: Path) -> None:
    write("a", "A.\r\n" + "é" * 50_000)
    (project / "docs").mkdir()
    (project / "docs" / "rules.md").write_text("Shared.", encoding="utf-8")
    (project / "b").mkdir()
    (project / "b" / "AGENTS.md").symlink_to("../docs/rules.md")
    (tmp_path / "AGENTS.md").write_text("Outside.", encoding="utf-8")
    write("blank", " ")
    one = resolver(project)
    assert one.read("a/AGENTS.md") == "A.\n" + "é" * 50_000
    assert found(one, "a/x") == []
    assert one.read(str(project / "b" / "AGENTS.md")) == "Shared."
    assert found(one, "b/x") == []
    for target in ("docs/rules.md", "AGENTS.md", "none/AGENTS.md", "../AGENTS.md", "a", "blank/AGENTS.md"):
        with pytest.raises(InvalidArgument, match="is not an AGENTS"):
            one.read(target)
    with pytest.raises(InvalidArgument, match="is not an AGENTS"):
        resolver(project, enabled=False).read("a/AGENTS.md")


@pytest.mark.acceptance("S1-25", "S1-33")
def test_a_resumed_session_returns_no_known_files(project: Path, write: Write) -> None:
    for directory in ("", "a", "b", "c"):
        write(directory, "Rules.", mtime_ms=1_000)
    before = resolver(project)
    before.initial()
    assert found(before, "a/x") == ["a/AGENTS.md"]
    assert found(before, "c/x") == ["c/AGENTS.md"]
    write("c", "Others.", mtime_ms=2_000)
    later = resolver(project / "b")
    assert "b/AGENTS.md (mtime: 1000)" in later.resume_diff(before.state)
    assert [found(later, str(project / place / "x")) for place in ("", "a", "b", "c")] == [[], [], [], ["c/AGENTS.md"]]
    # Newer versions take precedence over the saved state.
    write("", "Newer.", mtime_ms=3_000)
    assert found(later, str(project / "x")) == ["AGENTS.md"]
    assert f"{project}/AGENTS.md (mtime: 3000)" in later.resume_diff(before.state)
    assert found(later, str(project / "x")) == []


@pytest.mark.acceptance("S1-17", "S1-20", "S1-33")
@pytest.mark.parametrize("limit", [{"maxFiles": 1}, {"maxBytes": 6}])
def test_files_over_the_initial_limit_are_returned_later(project: Path, write: Write, limit: dict[str, int]) -> None:
    write("", "Rules.", mtime_ms=1_000)
    write("a", "More.", mtime_ms=1_000)
    before = resolver(project / "a", initial=limit)
    assert "More." not in before.initial().text
    assert before.state.covered == (str(project),)
    assert found(before, "x") == ["a/AGENTS.md"]
    assert found(before, "x") == []
    assert resolver(project / "a", initial=limit).resume_diff(before.state) == ""
    write("a", "Others.", mtime_ms=2_000)
    assert "a/AGENTS.md (mtime: 2000)" in resolver(project / "a", initial=limit).resume_diff(before.state)


@pytest.mark.acceptance("S1-33")
def test_a_resumed_session_reports_changes_only(project: Path, write: Write) -> None:
    write("", "Root.", mtime_ms=1_000)
    write("b", "B.", mtime_ms=2_000)
    before = resolver(project)
    before.initial()
    assert resolver(project).resume_diff(before.state) == ""
    moved = resolver(project / "b").resume_diff(before.state)
    assert moved == (
        '<system-reminder type="session.resume.diff">\n'
        "Session resumed with context changes:\n"
        f"- cwd: {project} -> {project}/b\n- root: {project} -> {project}\n"
        '- markers: [".codelia",".git",".jj"] -> [".codelia",".git",".jj"]\n'
        "Re-check AGENTS.md for current scope:\n"
        f"- {project}/b/AGENTS.md (mtime: 2000)\n"
        "</system-reminder>"
    )
    write("", "Root, changed.", mtime_ms=5_000)
    assert f"- {project}/AGENTS.md (mtime: 5000)" in resolver(project).resume_diff(before.state)


def test_a_missing_working_directory_is_reported(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for cwd in (str(project / "none"), "a\0b"):
        with pytest.raises(InvalidArgument, match="is not a directory"):
            AgentsResolver(cwd)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert AgentsResolver(home=str(project)).project.cwd == str(project)
