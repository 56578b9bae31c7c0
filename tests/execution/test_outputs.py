"""Where commands may write: private directories of sessions, and those below what a person allows."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.execution.outputs import Outputs, with_directory

pytestmark = pytest.mark.skipif(os.name != "posix", reason="commands are run on POSIX systems only")

ONE, TWO = ("handle", "one"), ("handle", "two")


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    place = tmp_path.resolve() / "work"
    (place / "hub" / "skills").mkdir(parents=True)
    (place / "repository" / ".git").mkdir(parents=True)
    (place / "more" / "deep" / ".git").mkdir(parents=True)
    return place


@pytest.fixture
def places(tmp_path: Path, allowed: Path) -> Outputs:
    return Outputs(str(tmp_path.resolve() / "outputs"), (str(allowed),))


def opened(
    places: Outputs, named: str | None, *, untouched: tuple[str, ...] = (), session: tuple[str, ...] = ONE
) -> Path:
    with places.opened(session, named, untouched=untouched) as output:
        return Path(output.path)


def test_each_session_keeps_its_own_directory(places: Outputs) -> None:
    assert not places.keeps(ONE)
    one = opened(places, None)
    (one / "report.csv").write_text("1")
    assert opened(places, None) == one
    assert (one / "report.csv").read_text() == "1"
    assert opened(places, None, session=TWO) != one
    assert places.keeps(ONE)
    assert [path.stat().st_mode & 0o777 for path in (one, one.parent)] == [0o700, 0o700]
    assert opened(places, "reports/june") == one / "reports" / "june"


def test_new_parent_directories_are_private(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        private = opened(Outputs(str(tmp_path.resolve() / "hub" / "outputs")), None)
        opened(Outputs(str(tmp_path / "none"), (str(tmp_path.resolve() / "a" / "b"),)), str(tmp_path / "a" / "b"))
    finally:
        os.umask(before)
    made = (private.parent.parent, tmp_path / "a")
    assert [path.stat().st_mode & 0o777 for path in made] == [0o700, 0o700]


@pytest.mark.parametrize("named", ["..", "../x", "a/../../x", ".ssh", "a/.git", "", "a//b", "./a", "a\\b"])
def test_a_relative_name_cannot_leave_the_session_directory(places: Outputs, named: str) -> None:
    with pytest.raises(InvalidArgument, match="is not a plain relative path"):
        opened(places, named)


def test_links_left_by_a_command_are_not_followed(places: Outputs, tmp_path: Path, allowed: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (opened(places, None) / "link").symlink_to(outside)
    (allowed / "link").symlink_to(outside)
    for named, reason in (
        ("link", "is a link or not a directory"),
        ("link/deep", "is a link or not a directory"),
        (str(allowed / "link"), "is in no allowed place"),
        (str(allowed / "link" / "deep"), "is in no allowed place"),
    ):
        with pytest.raises(InvalidArgument, match=reason):
            opened(places, named)
    assert list(outside.iterdir()) == []
    # Nor where the person allows a place in another one, which a command may have exchanged for a link.
    both = Outputs(places.directory, (str(allowed), str(allowed / "link")))
    with pytest.raises(InvalidArgument, match="is in no allowed place"):
        opened(both, str(allowed / "link" / "deep"))
    # Nor what has been put in its place while a command ran.
    with places.opened(ONE, "reports", untouched=()) as found:
        Path(found.path).rename(tmp_path / "moved")
        Path(found.path).symlink_to(outside)
        (outside / "name").touch()
        assert found.written() == ()


def test_a_named_directory_must_be_below_an_allowed_one(places: Outputs, allowed: Path, tmp_path: Path) -> None:
    assert opened(places, str(allowed / "new" / "deep")) == allowed / "new" / "deep"
    not_there_yet = tmp_path.resolve() / "not" / "there"
    assert opened(Outputs(places.directory, (str(not_there_yet),)), str(not_there_yet)) == not_there_yet
    hub = str(allowed / "hub")
    refused = {
        str(tmp_path): "is in no allowed place",
        f"{allowed}-other": "is in no allowed place",
        "/": "is in no allowed place",
        "~": "is in no allowed place",
        str(allowed / ".ssh"): "is hidden",
        str(allowed / "a" / ".config"): "is hidden",
        hub: "holds or lies in what the hub keeps",
        str(allowed / "hub" / "skills" / "pdf"): "holds or lies in what the hub keeps",
        # It holds the hub's directory.
        str(allowed): "holds or lies in what the hub keeps",
        # What is written to a repository's .git is run by the person's next command.
        str(allowed / "repository"): "is a repository",
        str(allowed / "more"): "or holds one",
        str(allowed / "repository" / ".git" / "hooks"): "is hidden",
    }
    for named, reason in refused.items():
        with pytest.raises(InvalidArgument, match=reason):
            opened(places, named, untouched=(hub,))
    assert opened(places, str(allowed / "repository" / "out"), untouched=(hub,)).is_dir()
    (allowed / "file").write_text("")
    with pytest.raises(InvalidArgument, match="not a directory"):
        opened(places, str(allowed / "file"), untouched=(hub,))


def test_without_the_setting_no_directory_can_be_named(tmp_path: Path) -> None:
    alone = Outputs(str(tmp_path / "outputs"))
    with pytest.raises(InvalidArgument, match="is in no allowed place") as caught:
        opened(alone, str(tmp_path / "x"))
    assert "SKILLHUB_OUTPUT_DIRS" in (caught.value.hint or "")


def test_new_and_changed_files_are_reported_but_not_links(places: Outputs) -> None:
    directory = opened(places, None)
    for name in ("old", "changed"):
        (directory / name).write_text("1")
    # As long as the clock of a file system may need for one step.
    time.sleep(0.02)
    with places.opened(ONE, None, untouched=()) as found:
        (directory / "changed").write_text("22")
        (directory / "sub").mkdir()
        (directory / "sub" / "new").write_text("3")
        (directory / "link").symlink_to("/etc/passwd")
        assert found.written() == ("changed", "sub/new")


def test_session_directories_unused_for_a_week_are_removed(places: Outputs) -> None:
    old = opened(places, None)
    os.utime(old, (1, 1))
    opened(places, None, session=TWO)
    assert not old.exists()


def test_the_output_dir_placeholder_is_replaced() -> None:
    given = ["{output_dir}/a.csv", "--out={output_dir}", "{output_dir}", "print(f'{output_dir}')", "a{output_dir}"]
    assert with_directory(given, "/o") == ["/o/a.csv", "--out=/o", "/o", *given[3:]]
