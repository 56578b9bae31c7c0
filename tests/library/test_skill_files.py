"""The files of one skill in a tree."""

from __future__ import annotations

import pytest

from skillhub_mcp.errors import ArchiveRefused
from skillhub_mcp.library.tree import BOUNDS, Bounds, TreeEntry, TreeEntryKind, in_order
from skillhub_mcp.library.unpack import SkillFiles


def file(path: str, size: int = 1) -> TreeEntry:
    return TreeEntry(path, TreeEntryKind.FILE, size)


def link(path: str, target: str) -> TreeEntry:
    return TreeEntry(path, TreeEntryKind.LINK, target=target)


def chosen(*entries: TreeEntry, skill: str = "s", bounds: Bounds = BOUNDS) -> dict[str, str]:
    return {found.path: found.source_path for found in SkillFiles(in_order(entries), skill, bounds).files}


def test_a_skill_is_what_its_directory_contains() -> None:
    entries = (file("s/SKILL.md"), file("s/a/b.md"), file("s-2/SKILL.md"), file("other.md"))
    assert chosen(*entries) == {"SKILL.md": "s/SKILL.md", "a/b.md": "s/a/b.md"}
    assert len(chosen(*entries, skill="")) == 4


def test_a_link_within_the_skill_becomes_a_copy() -> None:
    entries = (
        file("s/SKILL.md"),
        link("s/README.md", "SKILL.md"),
        link("s/a/up.md", ".././README.md"),
        file("s/docs/x/one.md"),
        link("s/docs/two.md", "x/one.md"),
        link("s/more", "docs"),
        link("s/a/deep", "../docs/x"),
    )
    assert chosen(*entries) == {
        "SKILL.md": "s/SKILL.md",
        "README.md": "s/SKILL.md",
        "a/up.md": "s/SKILL.md",
        "docs/x/one.md": "s/docs/x/one.md",
        "docs/two.md": "s/docs/x/one.md",
        "more/x/one.md": "s/docs/x/one.md",
        "more/two.md": "s/docs/x/one.md",
        "a/deep/one.md": "s/docs/x/one.md",
    }


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("../../other.md", "leads out of the source"),
        ("/scratch/outside", "leads out of the source"),
        ("..\\other", "leads out of the source"),
        ("out/other.md", "leads to nothing"),
        ("out/../SKILL.md", "leads to nothing"),
        ("missing.md", "leads to nothing"),
        ("SKILL.md/x", "leads to nothing"),
        ("itself", "leads in circles"),
        ("pong", "leads in circles"),
        ("", "a directory that it is in"),
        (".", "a directory that it is in"),
        ("..", "a directory that it is in"),
        (".env", "does not belong to a skill"),
        ("../other/node_modules/x", "does not belong to a skill"),
    ],
)
def test_a_dangling_link_or_one_out_of_the_source_is_left_out(target: str, said: str) -> None:
    entries = [
        file("s/SKILL.md"),
        file("s/.env"),
        file("other/node_modules/x"),
        link("s/itself", target if target != "pong" else "ping"),
    ]
    pairs = {
        "pong": [link("s/ping", "itself")],
        "out/other.md": [link("s/out", "/etc")],
        "out/../SKILL.md": [link("s/out", "../other")],
    }
    found = SkillFiles(in_order([*entries, *pairs.get(target, [])]), "s", BOUNDS)
    assert [one.path for one in found.files] == ["SKILL.md"]
    assert said in found.left_out["itself"]


def test_a_link_to_elsewhere_in_the_source_becomes_a_copy() -> None:
    entries = (
        file("s/SKILL.md"),
        link("s/LICENSE", "../LICENSE"),
        link("s/shared", "../shared"),
        link("s/back", "../s/SKILL.md"),
        file("LICENSE"),
        file("shared/a.md"),
        link("shared/b.md", "a.md"),
        file("shared/.env.local"),
    )
    assert chosen(*entries) == {
        "SKILL.md": "s/SKILL.md",
        "LICENSE": "LICENSE",
        "shared/a.md": "shared/a.md",
        "shared/b.md": "shared/a.md",
        "back": "s/SKILL.md",
    }


@pytest.mark.parametrize(
    "path",
    [
        *(".env", ".env.local", ".envrc", "a/.env", "node_modules/x/i.js", "a/node_modules/i.js"),
        *("__pycache__/a.pyc", ".DS_Store", "a/.DS_Store", ".git", ".git/config", "node_modules/con"),
    ],
)
def test_foreign_files_are_left_out_and_named(path: str) -> None:
    found = SkillFiles(in_order([file("s/SKILL.md"), file(f"s/{path}")]), "s", BOUNDS)
    assert [one.path for one in found.files] == ["SKILL.md"]
    (name,) = found.left_out
    assert f"{path}/".startswith(f"{name}/")


def test_a_submodule_in_a_skill_is_left_out_and_named() -> None:
    found = SkillFiles(in_order([file("s/SKILL.md"), TreeEntry("s/lib", TreeEntryKind.SUBMODULE)]), "s", BOUNDS)
    assert [one.path for one in found.files] == ["SKILL.md"]
    assert "submodule" in found.left_out["lib"]


def test_recursive_directory_links_end_at_the_limits() -> None:
    with pytest.raises(ArchiveRefused, match="at most 16 names"):
        chosen(file("s/a/SKILL.md"), link("s/a/l", "../b"), link("s/b/l", "../a"))
    doubling = [link(f"s/d{n}/{side}", f"../d{n + 1}") for n in range(14) for side in "xy"]
    with pytest.raises(ArchiveRefused, match="at most 4,096"):
        chosen(file("s/SKILL.md"), file("s/d14/f"), *doubling)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (TreeEntry("s/p", TreeEntryKind.OTHER), "neither a file nor a directory"),
        (file("s/con.md"), "device"),
        (file("s/skill.MD"), "one name"),
        (file("s/SKILL.md"), "is there twice"),
        (file("s/SKILL.md/x"), "which is a file"),
        (file("s/" + "d/" * 16 + "x"), "at most 16 names"),
        (file("s/big", 64 * 1024 * 1024), "at most 64 MiB"),
    ],
)
def test_forbidden_files_refuse_only_their_own_skill(entry: TreeEntry, said: str) -> None:
    with pytest.raises(ArchiveRefused, match=said) as refused:
        chosen(file("s/SKILL.md"), entry)
    assert refused.value.facts["entry"] == entry.path
    assert chosen(file("t/SKILL.md"), entry, skill="t") == {"SKILL.md": "t/SKILL.md"}


def test_empty_and_too_large_skills_are_refused() -> None:
    entries = [file(f"s/{n}") for n in range(3)]
    assert len(chosen(*entries, bounds=Bounds(skill_files=3))) == 3
    with pytest.raises(ArchiveRefused, match="at most 2"):
        chosen(*entries, bounds=Bounds(skill_files=2))
    with pytest.raises(ArchiveRefused, match="has no file"):
        chosen(*entries, skill="absent")
