"""The skills of a source before installation."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from tests.library.sources.repositories import ENVIRONMENT, Repository, Submodule

from skillhub_mcp.errors import AmbiguousSkill, SkillNotFound
from skillhub_mcp.library.candidates import Candidates, candidates, chosen
from skillhub_mcp.library.sources.directory_tree import DirectoryTree
from skillhub_mcp.library.sources.git import GitOptions
from skillhub_mcp.library.sources.git_tree import open_git
from skillhub_mcp.library.sources.source import parse_source
from skillhub_mcp.library.tree import Tree, TreeEntry, TreeEntryKind
from skillhub_mcp.skills.roots import make_roots
from skillhub_mcp.skills.scanner import scan

Find = Callable[..., Candidates]


def skill(name: str) -> str:
    return f"---\nname: {name}\ndescription: Does {name}.\n---\n# How\n"


@pytest.fixture
def find(tmp_path: Path) -> Find:
    """Return a function that writes files to a new directory and returns its candidates."""

    def found(files: Mapping[str, str], start: str = "", name: str = "source") -> Candidates:
        top = tmp_path / "source"
        top.mkdir(exist_ok=True)
        for path, content in files.items():
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_text(content, encoding="utf-8")
        tree = DirectoryTree(os.fspath(top))
        try:
            return candidates(tree, start, name=name)
        finally:
            tree.close()

    return found


def paths(found: Candidates) -> list[str]:
    return [candidate.path for candidate in found.skills]


def test_candidates_equal_what_discovery_finds_in_a_root(find: Find, tmp_path: Path) -> None:
    found = find(
        {
            "skills/pdf/SKILL.md": skill("pdf"),
            "skills/pdf/inner/SKILL.md": skill("inner"),
            "csv/SKILL.md": skill("csv"),
            "csv/scripts/run.py": "print()",
            "node_modules/x/SKILL.md": skill("x"),
            ".hidden/y/SKILL.md": skill("y"),
            "a/b/c/d/e/f/SKILL.md": skill("deep"),
            "docs/skill.md": skill("lower"),
        }
    )
    scanned = scan(make_roots([os.fspath(tmp_path / "source")]), memory={}, whole=False).snapshot
    there = sorted(os.path.relpath(one.directory, tmp_path / "source").replace(os.sep, "/") for one in scanned.skills)
    assert paths(found) == there == ["a/b/c/d/e/f", "csv", "docs", "skills/pdf"]
    assert [file.path for file in found.skills[1].files] == ["SKILL.md", "scripts/run.py"]
    assert [candidate.name for candidate in found.skills] == ["deep", "csv", "lower", "pdf"]


def test_a_source_can_be_one_skill_named_after_the_source(find: Find) -> None:
    found = find({"SKILL.md": "---\ndescription: Does it.\n---\n", "more/SKILL.md": skill("more")}, name="tables")
    assert [(candidate.path, candidate.name) for candidate in found.skills] == [("", "tables")]


def test_the_search_starts_at_the_given_path(find: Find) -> None:
    files = {"a/x/SKILL.md": skill("x"), "ab/SKILL.md": skill("ab"), "a-b/SKILL.md": skill("a-b")}
    assert paths(find(files, "a")) == ["a/x"]
    assert paths(find(files, "a/x")) == ["a/x"]
    assert [file.path for file in find(files, "ab").skills[0].files] == ["SKILL.md"]


def test_a_skill_that_is_too_deep_is_reported_with_a_fix(find: Find) -> None:
    found = find({"1/2/3/4/5/6/7/SKILL.md": skill("deep"), "near/SKILL.md": skill("near")})
    assert paths(found) == ["near"]
    (left,) = found.left_out
    assert (left.what, "name its directory" in left.reason) == ("1/2/3/4/5/6/7", True)


def test_a_visible_skill_wins_over_one_in_a_client_directory(find: Find) -> None:
    found = find({"skills/pdf/SKILL.md": skill("pdf"), ".claude/skills/pdf/SKILL.md": skill("pdf") + "More.\n"})
    assert paths(found) == ["skills/pdf"]
    assert [(left.what, "skills/pdf, with other files" in left.reason) for left in found.left_out] == [
        (".claude/skills/pdf", True)
    ]


def test_nested_skills_are_listed_with_a_path_to_reach_them(find: Find) -> None:
    found = find({"a/SKILL.md": skill("a"), "a/b/SKILL.md": skill("b"), "a/node_modules/c/SKILL.md": skill("c")})
    assert paths(found) == ["a"]
    (left,) = found.left_out
    assert (left.what, "`--path a/b` adds it" in left.reason) == ("a/b", True)


def test_skills_listed_in_a_manifest_are_included(find: Find) -> None:
    manifest = {"plugins": [{"name": "p", "source": "./", "skills": ["./a/b", "./1/2/3/4/5/6/7"]}]}
    found = find(
        {
            "a/SKILL.md": skill("a"),
            "a/b/SKILL.md": skill("b"),
            "1/2/3/4/5/6/7/SKILL.md": skill("deep"),
            ".claude-plugin/marketplace.json": json.dumps(manifest),
        }
    )
    assert paths(found) == ["1/2/3/4/5/6/7", "a", "a/b"]
    assert found.left_out == ()


def test_a_submodule_is_named(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    repository.commit({"a/SKILL.md": skill("a"), "skills": Submodule()})
    with closing(open_git(parse_source(repository.url), GitOptions(ENVIRONMENT, 60.0))) as tree:
        (left,) = candidates(tree, name="x").left_out
    assert (left.what, "submodule" in left.reason) == ("skills", True)


def test_manifests_add_skills_that_discovery_misses(find: Find) -> None:
    marketplace = {
        "plugins": [{"name": "p", "source": "./.claude-plugin/p"}, {"name": "q", "source": {"source": "npm"}}]
    }
    found = find(
        {
            "SKILL.md": skill("top"),
            ".claude-plugin/marketplace.json": json.dumps(marketplace),
            ".claude-plugin/p/skills/one/SKILL.md": skill("one"),
            ".claude-plugin/p/.claude-plugin/plugin.json": json.dumps({"name": "p", "skills": "./more/two"}),
            ".claude-plugin/p/more/two/SKILL.md": skill("two"),
            ".claude-plugin/p/more/three/SKILL.md": skill("three"),
        }
    )
    assert paths(found) == ["", ".claude-plugin/p/more/two", ".claude-plugin/p/skills/one"]
    assert [left.what for left in found.left_out] == ["q"]


@pytest.mark.slow
def test_deep_directories_of_a_large_manifest_are_scanned_once() -> None:
    """A quadratic scan used to take many minutes for two megabytes."""
    deep = "d/" * 500
    manifest = {"plugins": [{"name": "p", "source": "./", "skills": [f"x{at}" for at in range(20_000)]}]}
    tree = _Written(
        {
            ".claude-plugin/marketplace.json": json.dumps(manifest),
            **{f"all/s{at}/SKILL.md": skill(f"s{at}") for at in range(300)},
            **{f"{deep}s{at}/SKILL.md": skill(f"s{at}") for at in range(300)},
        }
    )
    before = time.process_time()
    found = candidates(tree, name="source")
    assert time.process_time() - before < 5
    assert (len(found.skills), len(found.left_out)) == (300, 300)


class _Written(Tree):
    """A tree of files in memory."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = files
        self.entries = [TreeEntry(path, TreeEntryKind.FILE, len(files[path])) for path in sorted(files)]

    def read(self, path: str) -> Iterator[bytes]:
        yield self.files[path].encode()


def test_a_single_plugin_adds_its_skills_too(find: Find) -> None:
    plugin = {"name": "p", "skills": ["./.hidden/one"]}
    found = find({".claude-plugin/plugin.json": json.dumps(plugin), ".hidden/one/SKILL.md": skill("one")})
    assert paths(found) == [".hidden/one"]


def test_skills_in_client_directories_are_found_beside_others(find: Find) -> None:
    project = {".agents/skills/own/SKILL.md": skill("own"), ".claude/skills/other/SKILL.md": skill("other")}
    assert paths(find(project)) == [".agents/skills/own", ".claude/skills/other"]
    assert paths(find({"given/SKILL.md": skill("given")})) == [".agents/skills/own", ".claude/skills/other", "given"]


def test_an_unusable_skill_is_reported_and_the_others_stay(find: Find, tmp_path: Path) -> None:
    files = {"good/SKILL.md": skill("good"), "bad/SKILL.md": "---\nname: [\n---\n", "led/SKILL.md": skill("led")}
    find(files)
    (tmp_path / "source" / "led" / "away").symlink_to(tmp_path / "elsewhere")
    found = find({})
    good = {candidate.path: not candidate.problem for candidate in found.skills}
    assert good == {"bad": False, "good": True, "led": True}


def test_a_document_that_is_a_link_within_the_skill_is_read(find: Find, tmp_path: Path) -> None:
    find({"linked/README.md": skill("linked")})
    (tmp_path / "source" / "linked" / "SKILL.md").symlink_to("README.md")
    found = find({})
    assert [(candidate.name, candidate.problem) for candidate in found.skills] == [("linked", "")]


def test_a_document_that_links_to_a_directory_is_ignored(find: Find, tmp_path: Path) -> None:
    find({"a/docs/x.md": "x"})
    (tmp_path / "source" / "a" / "SKILL.md").symlink_to("docs")
    (candidate,) = find({}).skills
    assert candidate.problem == "its SKILL.md is a link that cannot be followed"


@pytest.fixture
def several(find: Find) -> Candidates:
    return find(
        {
            "one/pdf/SKILL.md": skill("pdf"),
            "two/pdf/SKILL.md": skill("PDF"),
            "csv/SKILL.md": skill("tables"),
            "tables-2/SKILL.md": skill("csv"),
        }
    )


def test_a_skill_is_chosen_by_name_then_directory_then_path(several: Candidates) -> None:
    assert [candidate.path for candidate in chosen(several, ["csv"])] == ["tables-2"]
    assert [candidate.path for candidate in chosen(several, ["Tables-2"])] == ["tables-2"]
    assert [candidate.path for candidate in chosen(several, ["two/pdf", "tables", "two/pdf/"])] == ["two/pdf", "csv"]


def test_an_ambiguous_name_is_refused(several: Candidates) -> None:
    with pytest.raises(AmbiguousSkill) as caught:
        chosen(several, ["pdf"])
    assert caught.value.facts["candidates"] == ["one/pdf", "two/pdf"]


def test_byte_identical_copies_are_one_skill(find: Find) -> None:
    same, other = skill("shared"), f"{skill('shared')}Another one.\n"
    found = find({"a/shared/SKILL.md": same, "b/shared/SKILL.md": same, "c/shared/SKILL.md": other})
    assert [(one.path, one.copies) for one in found.skills] == [("a/shared", ("b/shared",)), ("c/shared", ())]
    assert [one.path for one in chosen(found, ["b/shared"])] == ["a/shared"]


def test_an_unknown_name_is_answered_with_the_available_ones(several: Candidates) -> None:
    with pytest.raises(SkillNotFound) as caught:
        chosen(several, ["tabels"])
    assert "tables" in caught.value.near


def test_a_source_without_skills_is_reported(find: Find) -> None:
    plugins = [{"name": "far", "source": {"source": "github", "repo": "o/r"}}]
    found = find({"README.md": "hello", ".claude-plugin/marketplace.json": json.dumps({"plugins": plugins})})
    with pytest.raises(SkillNotFound) as caught:
        chosen(found, [])
    assert (caught.value.message, caught.value.hint) == (
        "No skill is there: the source has none",
        "far is elsewhere; add that source by itself",
    )
