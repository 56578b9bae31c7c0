"""Entry paths that are never unpacked."""

from __future__ import annotations

import pytest
from tests.traversal import REFUSED

from skillhub_mcp.library.unpack import EntryNames, entry_problem, folded
from skillhub_mcp.skills.files.paths import WITHHELD, path_problem


@pytest.mark.parametrize(
    "path",
    [
        "SKILL.md",
        ".env",
        ".gitignore",
        "a/.github/b.yml",
        "con-text.md",
        "console.md",
        "com10.md",
        "コード/説明.md",
        "naïve name (1).md",
        "a..b",
        "...a",
        "x/" * 31 + "y",
        "é" * 127,
    ],
)
def test_portable_paths_are_accepted(path: str) -> None:
    assert entry_problem(path) is None


# Dotfiles are ordinary files of a skill.
_HOSTILE = [row for row in REFUSED if path_problem(row.path, serve_dotfiles=False) != WITHHELD]


@pytest.mark.parametrize("path", [row.path for row in _HOSTILE], ids=[row.why for row in _HOSTILE])
def test_files_that_are_never_served_are_never_unpacked(path: str) -> None:
    assert entry_problem(path)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", "no name"),
        ("a/./b", "'.'"),
        ("a//b", "empty name"),
        ("a/", "empty name"),
        ("notes.txt:hidden", "stream"),
        ("C:x", "drive"),
        ("a/b.", "ends in a dot"),
        ("a /b", "ends in a dot or a blank"),
        ("CON", "device"),
        ("a/nul.tar.gz", "device"),
        ("Aux .txt", "device"),
        ("COM1", "device"),
        ("lpt².md", "device"),
        ("conin$", "device"),
        (".git/config", "git's own"),
        ("a/.GIT/hooks/post-checkout", "git's own"),
        ("a/.g\u200cit/config", "git's own"),
        ("a/git~1/config", "git's own"),
        ("a/.git", "git's own"),
        ("a\\b", "backslash"),
    ],
)
def test_paths_with_another_meaning_on_some_system_are_refused(path: str, said: str) -> None:
    assert said in (entry_problem(path) or "")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("README.md", "readme.MD"),
        ("caf\u00e9", "cafe\u0301"),
        ("\ufb01le", "file"),
        ("\uff21.md", "a.md"),
        ("stra\u00dfe", "STRASSE"),
        ("\u212a.md", "k.md"),
        ("a\u200d.md", "a.md"),
        ("\u0130", "i\u0307"),
    ],
)
def test_paths_equal_on_some_file_system_fold_to_one(one: str, other: str) -> None:
    assert folded(one) == folded(other)


def test_the_second_of_two_colliding_entries_is_reported() -> None:
    names = EntryNames()
    assert names.problem("a/b.md") is None
    assert names.problem("a/c.md") is None
    assert names.problem("a", is_directory=True) is None
    assert names.problem("a", is_directory=True) is None
    assert "is there twice" in (names.problem("a/b.md") or "")
    assert "'a/b.md' are one name" in (names.problem("a/B.md") or "")
    assert "'a' are one name" in (names.problem("A/other.md") or "")
    assert "is a file and a directory" in (names.problem("a") or "")
    assert "needs a directory 'a/b.md'" in (names.problem("a/b.md/c") or "")
    assert "needs a directory 'a/c.md'" in (names.problem("a/c.md", is_directory=True) or "")
