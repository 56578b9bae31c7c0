"""The walk: found files, skipped paths, and a problem for every unreadable path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import SkillWriter

from skillhub_mcp.project import find_project
from skillhub_mcp.skills.discovery import MAX_DEPTH, SkipReason, Walk, walk_roots
from skillhub_mcp.skills.model import Trust
from skillhub_mcp.skills.roots import SkillRoot, choose_roots, is_at_or_below, make_roots


def plant(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "SKILL.md").write_text("x", encoding="utf-8")
    return directory


def walk(*roots: Path) -> Walk:
    return walk_roots(make_roots([str(root) for root in roots]))


def names(found: Walk, root: Path) -> list[str]:
    return [os.path.relpath(file.directory, os.path.realpath(root)) for file in found.found]


def reasons(found: Walk, root: Path) -> dict[str, str]:
    return {os.path.relpath(p.subject, os.path.realpath(root)): p.message for p in found.problems}


def test_a_skill_is_found_with_its_file_metadata(tmp_path: Path) -> None:
    skill = plant(tmp_path / "a")
    (found,) = walk(tmp_path).found
    status = (skill / "SKILL.md").stat()
    assert (found.directory, found.root, found.name) == (os.path.realpath(skill), os.path.realpath(tmp_path), "a")
    assert (found.mtime_ns, found.size) == (status.st_mtime_ns, 1)


@pytest.mark.acceptance("S2-55")
def test_skills_are_found_down_to_the_maximum_depth(tmp_path: Path) -> None:
    deepest = plant(tmp_path.joinpath(*"abcde", "deepest"))
    plant(tmp_path.joinpath(*"ABCDEF", "too-deep"))
    assert len(deepest.relative_to(tmp_path).parts) == MAX_DEPTH
    assert names(walk(tmp_path), tmp_path) == ["a/b/c/d/e/deepest"]


def test_a_skill_that_is_too_deep_is_reported_with_the_fix(tmp_path: Path) -> None:
    for place in ("a/b/c/d/e/f/deep", "a/b/c/d/e/f/deep/part", "a/b/c/d/e/f/g/h/i/deeper"):
        plant(tmp_path / place)
    deep, deeper = sorted(walk(tmp_path).problems, key=lambda one: one.subject)
    assert (os.path.basename(deep.subject), os.path.basename(deeper.subject)) == ("deep", "deeper")
    assert deep.message == "is a skill more than 6 levels below its root"
    assert deep.fix == "move it up, or name a directory nearer to it in SKILLS_DIR"


def test_a_skill_ends_the_descent(tmp_path: Path) -> None:
    plant(tmp_path / "outer")
    plant(tmp_path / "outer" / "inner")
    assert names(walk(tmp_path), tmp_path) == ["outer"]


def test_a_root_may_be_a_skill_itself(tmp_path: Path) -> None:
    plant(tmp_path / "skill")
    (found,) = walk(tmp_path / "skill").found
    assert (found.name, found.directory) == ("skill", found.root)


@pytest.mark.parametrize("passed_over", [".hidden", ".git", "node_modules", "__pycache__"])
def test_hidden_and_foreign_directories_are_skipped_below_a_root(tmp_path: Path, passed_over: str) -> None:
    plant(tmp_path / passed_over / "skill")
    assert names(walk(tmp_path), tmp_path) == []
    assert names(walk(tmp_path / passed_over), tmp_path / passed_over) == ["skill"]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (["README.md"], []),
        (["SKILL.md.bak", "xSKILL.md"], []),
        (["skill.md"], ["skill.md"]),
        (["SKILL.MD"], ["SKILL.MD"]),
        (["Skill.md"], ["Skill.md"]),
        (["SKILL.MD", "SKILL.md", "skill.md"], ["SKILL.md"]),
    ],
)
def test_a_skill_file_is_found_in_any_letter_case_and_the_exact_name_first(
    tmp_path: Path, files: list[str], found: list[str]
) -> None:
    (tmp_path / "a").mkdir()
    for name in files:
        (tmp_path / "a" / name).touch()
    assert [one.file for one in walk(tmp_path).found] == found
    assert walk(tmp_path).problems == ()


# Links


def test_a_linked_skill_directory_is_found_at_its_real_path(tmp_path: Path) -> None:
    plant(tmp_path / "elsewhere" / "real")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "linked").symlink_to(tmp_path / "elsewhere" / "real")
    (found,) = walk(tmp_path / "root").found
    assert found.directory == os.path.realpath(tmp_path / "elsewhere" / "real")
    assert (found.root, found.name) == (os.path.realpath(tmp_path / "root"), "linked")


def test_a_linked_root_is_walked_at_its_target_and_shown_as_configured(tmp_path: Path) -> None:
    plant(tmp_path / "real" / "a")
    (tmp_path / "real" / ".hidden").mkdir()
    (tmp_path / "real" / "loop").symlink_to("loop")
    (tmp_path / "real" / "up").symlink_to("..")
    (tmp_path / "root").symlink_to("real")
    found = walk(tmp_path / "root")
    (skill,) = found.found
    assert (skill.directory, skill.root) == (str(tmp_path / "root" / "a"), str(tmp_path / "root"))
    assert [problem.subject for problem in found.problems] == [str(tmp_path / "root" / "loop")]
    assert found.ignored.paths[SkipReason.HIDDEN] == (str(tmp_path / "root" / ".hidden"),)
    assert [root.target for root in found.roots] == [os.path.realpath(tmp_path / "real")]


def test_one_real_directory_is_found_once_by_its_own_name(tmp_path: Path) -> None:
    plant(tmp_path / "m-real")
    for link in ("a-link", "z-link"):
        (tmp_path / link).symlink_to("m-real")
    (found,) = walk(tmp_path).found
    assert found.name == "m-real"


def test_a_cycle_of_links_ends(tmp_path: Path) -> None:
    plant(tmp_path / "a" / "skill")
    (tmp_path / "a" / "up").symlink_to("..")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "to-a").symlink_to("../a")
    (tmp_path / "a" / "to-b").symlink_to("../b")
    assert names(walk(tmp_path), tmp_path) == ["a/skill"]
    assert walk(tmp_path).problems == ()


def test_a_link_to_itself_is_reported_and_one_to_nothing_is_ignored(tmp_path: Path) -> None:
    plant(tmp_path / "skill")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "gone").symlink_to("nowhere")
    found = walk(tmp_path)
    assert names(found, tmp_path) == ["skill"]
    assert list(reasons(found, tmp_path)) == ["loop"]


def test_the_shortest_path_to_a_directory_sets_its_depth(tmp_path: Path) -> None:
    target = tmp_path.joinpath("root", *"abcde", "target")
    plant(target / "one" / "two")
    plant(tmp_path / "root" / "x")
    assert names(walk(tmp_path / "root"), tmp_path / "root") == ["x"]
    (tmp_path / "root" / "z-short").symlink_to(target)
    assert names(walk(tmp_path / "root"), tmp_path / "root") == ["a/b/c/d/e/target/one/two", "x"]


def test_nested_roots_leave_their_skills_to_the_earlier_root(tmp_path: Path) -> None:
    plant(tmp_path / "inner" / "skill")
    outer, inner = os.path.realpath(tmp_path), os.path.realpath(tmp_path / "inner")
    assert [file.root for file in walk(tmp_path, tmp_path / "inner").found] == [outer]
    assert [file.root for file in walk(tmp_path / "inner", tmp_path).found] == [inner]


# Unreadable paths


def test_a_missing_root_or_a_file_is_reported_and_does_not_stop_the_others(tmp_path: Path) -> None:
    plant(tmp_path / "there" / "skill")
    (tmp_path / "file").touch()
    found = walk(tmp_path / "missing", tmp_path / "file", tmp_path / "there")
    assert names(found, tmp_path) == ["there/skill"]
    assert reasons(found, tmp_path) == {"missing": "does not exist", "file": "is a file, not a directory"}


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda file: plant(file.parent / "SKILL.md"), "is not a regular file"),
        (os.mkfifo, "is not a regular file"),
        (lambda file: file.symlink_to("nowhere"), "cannot be read (No such file or directory)"),
    ],
    ids=["directory", "FIFO", "dangling link"],
)
def test_a_skill_file_that_is_not_a_file_is_reported(
    tmp_path: Path, make: Callable[[Path], object], reason: str
) -> None:
    plant(tmp_path / "a" / "below")
    make(tmp_path / "a" / "SKILL.md")
    found = walk(tmp_path)
    assert found.found == ()
    assert reasons(found, tmp_path) == {"a/SKILL.md": reason}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps names that are not UTF-8")
def test_a_name_that_is_not_utf_8_is_reported_in_printable_text(tmp_path: Path) -> None:
    plant(tmp_path / "skill")
    odd = os.fsencode(tmp_path) + b"/odd-\xff"
    os.mkdir(odd)
    (tmp_path / os.fsdecode(odd) / "SKILL.md").write_text("x", encoding="utf-8")
    found = walk(tmp_path)
    assert names(found, tmp_path) == ["skill"]
    assert reasons(found, tmp_path) == {"odd-\\udcff": "has a name that is not UTF-8"}
    as_root = walk_roots((SkillRoot(os.fsdecode(odd), "odd"),))
    assert as_root.found == ()
    assert reasons(as_root, tmp_path) == reasons(found, tmp_path)


LOOK_AS_NOBODY = """
import json, os, sys
from skillhub_mcp.skills.discovery import walk_roots
from skillhub_mcp.skills.roots import make_roots
if os.geteuid() == 0:
    os.setegid(65534)
    os.seteuid(65534)
walk = walk_roots(make_roots([sys.argv[1]]))
print(json.dumps([[file.name for file in walk.found], [[p.subject, p.message] for p in walk.problems]]))
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes that would close a directory")
def test_an_unreadable_directory_is_reported_and_hides_no_neighbours() -> None:
    with tempfile.TemporaryDirectory() as name:
        top = Path(os.path.realpath(name))
        plant(top / "skill")
        for closed in ("closed", "no-search"):
            plant(top / closed / "inner")
        (top / "into-closed").symlink_to("no-search/inner")
        top.chmod(0o755)
        (top / "closed").chmod(0)
        (top / "no-search").chmod(0o444)
        try:
            ran = subprocess.run(
                [sys.executable, "-c", LOOK_AS_NOBODY, str(top)], capture_output=True, check=True, timeout=60
            )
        finally:
            for closed in ("closed", "no-search"):
                (top / closed).chmod(0o755)
        found, problems = json.loads(ran.stdout)
    assert found == ["skill"]
    reasons = {os.path.relpath(path, top): reason for path, reason in problems}
    assert set(reasons) >= {"closed", "into-closed"}
    assert set(reasons.values()) == {"cannot be read (Permission denied)"}


def test_a_bounded_root_stops_at_its_limit_and_says_so(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text("x", encoding="utf-8")
    whole = SkillRoot(str(tmp_path), "x", max_directories=5)
    assert len(walk_roots((whole,)).found) == 4
    assert walk_roots((whole,)).problems == ()
    less = walk_roots((SkillRoot(str(tmp_path), "x", max_directories=3),))
    assert [os.path.basename(found.directory) for found in less.found] == ["a", "b"]
    (problem,) = less.problems
    assert problem.message == "has more than 3 directories; the rest was not searched"


@pytest.mark.parametrize(
    ("path", "directory", "inside"),
    [
        ("/a/library", "/a/library", True),
        ("/a/library/x", "/a/library", True),
        ("/a/library-old", "/a/library", False),
        ("/a/library-old/x", "/a/library", False),
        ("/a", "/a/library", False),
        ("/a", "/", True),
    ],
)
def test_below_follows_the_path_of_a_directory(path: str, directory: str, inside: bool) -> None:
    assert is_at_or_below(path, directory) == inside


def roots_with_project(tmp_path: Path) -> tuple[SkillRoot, ...]:
    (tmp_path / "repo" / ".git").mkdir(parents=True, exist_ok=True)
    project = find_project(str(tmp_path / "repo"))
    return choose_roots(("project", "user"), project=project, home=str(tmp_path / "home"), hub=[], builtin="")


@pytest.mark.parametrize("way", ["skill", "directory above", "root", "agents"])
def test_a_link_out_of_the_project_is_reported_and_not_followed_before_trust(
    tmp_path: Path, write_skill: SkillWriter, way: str
) -> None:
    private = write_skill("private", root=tmp_path / "other" / ".agents" / "skills")
    write_skill("own", root=tmp_path / "repo" / "kept")
    link = {
        "skill": (Path(".agents/skills/private"), private),
        "directory above": (Path(".agents/skills/all"), private.parent),
        "root": (Path(".agents/skills"), private.parent),
        "agents": (Path(".agents"), tmp_path / "other" / ".agents"),
    }[way]
    roots = roots_with_project(tmp_path)
    path = tmp_path / "repo" / link[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(link[1])
    walk = walk_roots(roots)
    assert walk.found == ()
    (problem,) = walk.problems
    assert problem.message == "is a link out of the project and is not followed"
    assert problem.subject == str(tmp_path / "repo" / (".agents/skills" if way == "agents" else link[0]))
    assert f"`skillhub trust {tmp_path / 'repo'}`" in problem.fix
    # A link within the project is followed.
    path.unlink()
    path.symlink_to(tmp_path / "repo" / "kept" / "own")
    if way == "skill":
        assert [file.directory for file in walk_roots(roots).found] == [str(tmp_path / "repo" / "kept" / "own")]


@pytest.mark.parametrize("target", ["/", "home", "."])
def test_a_link_to_what_holds_the_home_or_the_project_is_never_followed(
    tmp_path: Path, write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    write_skill("private", root=tmp_path / "home" / "notes")
    own = write_skill("own", root=tmp_path / "repo" / ".agents" / "skills")
    own.with_name("link").symlink_to(tmp_path / target)
    walk = walk_roots(tuple(replace(root, trust=Trust.AGREED) for root in roots_with_project(tmp_path)))
    assert [file.directory for file in walk.found] == [str(own)]
    (problem,) = walk.problems
    assert problem.message == "is a link to a directory that holds the home or the project, and is not followed"


@pytest.mark.parametrize("trust", [Trust.AWAITED, Trust.AGREED])
@pytest.mark.parametrize("way", ["skill", "directory above", "root"])
def test_a_project_link_does_not_claim_the_users_skill(
    tmp_path: Path, write_skill: SkillWriter, way: str, trust: Trust
) -> None:
    mine = write_skill("commit", root=tmp_path / "home" / ".agents" / "skills")
    link = tmp_path / "repo" / ".agents" / "skills"
    (link.parent if way == "root" else link).mkdir(parents=True)
    target = {"skill": mine, "directory above": mine.parent.parent, "root": mine.parent}[way]
    (link if way == "root" else link / "commit").symlink_to(target)
    roots = roots_with_project(tmp_path)
    walk = walk_roots(tuple(replace(root, trust=trust) if root.within else root for root in roots))
    assert [(file.directory, file.root) for file in walk.found] == [(str(mine), str(mine.parent))]
    # It is served from its target, so only a link above that is reported.
    assert len(walk.problems) == (trust is Trust.AWAITED and way == "directory above")
