"""Matching skills to a project by the names of files in its root."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.disclosure.library import skill

from skillhub_mcp.disclosure.card import keyword_matches, keywords_of_files, project_keywords


@pytest.mark.parametrize(
    ("file", "word"),
    [
        ("package.json", "javascript"),
        ("tsconfig.base.json", "typescript"),
        ("next.config.mjs", "react"),
        ("pyproject.toml", "python"),
        ("requirements-dev.txt", "python"),
        ("Cargo.toml", "rust"),
        ("go.mod", "golang"),
        ("Dockerfile.prod", "docker"),
        ("docker-compose.dev.yml", "docker"),
        ("main.tf", "terraform"),
        ("App.csproj", "dotnet"),
        (".github", "github"),
    ],
)
def test_project_files_give_keywords(file: str, word: str) -> None:
    assert word in keywords_of_files([file, "README.md"])


def test_common_files_give_no_keywords() -> None:
    assert keywords_of_files(["README.md", "LICENSE", "src", "docs", ".gitignore", "Makefile"]) == frozenset()


def test_only_files_in_the_root_give_keywords(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "package.json").write_text("{}", encoding="utf-8")
    (tmp_path / "Cargo.toml").mkdir()
    assert project_keywords(str(tmp_path)) == {"rust", "cargo"}


def test_an_unreadable_directory_gives_no_keywords(tmp_path: Path) -> None:
    assert project_keywords(str(tmp_path / "gone")) == frozenset()
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert project_keywords(str(tmp_path / "file")) == frozenset()


def test_keywords_match_tags_the_category_or_words_of_the_name() -> None:
    words = keywords_of_files(["pyproject.toml", "Dockerfile"])
    assert keyword_matches(skill("a", tags=("python", "docker", "web")), words) == 2
    assert keyword_matches(skill("a", category="docker"), words) == 1
    assert keyword_matches(skill("python-testing", tags=("python",)), words) == 1
    assert keyword_matches(skill("Python Testing"), words) == 1
    assert keyword_matches(skill("pythonic"), words) == 0
    assert keyword_matches(skill("a", "Tests Python programs."), words) == 0


def test_ambiguous_keywords_match_tags_only() -> None:
    words = keywords_of_files(["go.mod", "next.config.js"])
    assert keyword_matches(skill("go-to-market"), words) == 0
    assert keyword_matches(skill("next-steps"), words) == 0
    assert keyword_matches(skill("web-server", tags=("go",)), words) == 1
    assert keyword_matches(skill("golang-errors"), words) == 1
