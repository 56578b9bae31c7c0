"""Which skills fit a project is guessed from the names of the files at its root, and from nothing else."""

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
def test_a_file_gives_away_what_the_project_is_made_with(file: str, word: str) -> None:
    assert word in keywords_of_files([file, "README.md"])


def test_the_files_of_any_project_give_nothing_away() -> None:
    assert keywords_of_files(["README.md", "LICENSE", "src", "docs", ".gitignore", "Makefile"]) == frozenset()


def test_only_the_names_at_the_root_count(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "package.json").write_text("{}", encoding="utf-8")
    (tmp_path / "Cargo.toml").mkdir()
    assert project_keywords(str(tmp_path)) == {"rust", "cargo"}


def test_a_directory_that_cannot_be_looked_into_gives_nothing_away(tmp_path: Path) -> None:
    assert project_keywords(str(tmp_path / "gone")) == frozenset()
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert project_keywords(str(tmp_path / "file")) == frozenset()


def test_a_skill_fits_by_its_tags_its_category_or_a_word_of_its_name() -> None:
    words = keywords_of_files(["pyproject.toml", "Dockerfile"])
    assert keyword_matches(skill("a", tags=("python", "docker", "web")), words) == 2
    assert keyword_matches(skill("a", category="docker"), words) == 1
    assert keyword_matches(skill("python-testing", tags=("python",)), words) == 1
    assert keyword_matches(skill("Python Testing"), words) == 1
    assert keyword_matches(skill("pythonic"), words) == 0
    assert keyword_matches(skill("a", "Tests Python programs."), words) == 0


def test_a_word_that_means_something_else_in_names_counts_as_a_tag_only() -> None:
    words = keywords_of_files(["go.mod", "next.config.js"])
    assert keyword_matches(skill("go-to-market"), words) == 0
    assert keyword_matches(skill("next-steps"), words) == 0
    assert keyword_matches(skill("web-server", tags=("go",)), words) == 1
    assert keyword_matches(skill("golang-errors"), words) == 1


def test_where_nothing_is_known_of_the_project_nothing_fits() -> None:
    assert keyword_matches(skill("python"), frozenset()) == 0
