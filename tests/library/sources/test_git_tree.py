"""A commit as a tree, fetched over file://, and errors for missing refs and paths."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.library.sources.repositories import (
    ENVIRONMENT,
    Entry,
    Executable,
    Link,
    Repository,
    Submodule,
    needs_git,
    skill_text,
)

from skillhub_mcp.errors import SourceUnreachable
from skillhub_mcp.library.sources.git import GitOptions
from skillhub_mcp.library.sources.git_tree import GitTree, open_git, remote_ref
from skillhub_mcp.library.sources.source import parse_source
from skillhub_mcp.library.tree import TreeEntry, TreeEntryKind

OPTIONS = GitOptions(environment=ENVIRONMENT, timeout_seconds=60.0)
PDF = skill_text("pdf")


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    repository = Repository(tmp_path_factory.mktemp("upstream") / "skills.git")
    repository.commit({"skills/pdf/SKILL.md": "old", "gone": "x"}, tags={"v1": True})
    files: dict[str, Entry] = {
        "README.md": "# Skills\n",
        "skills/pdf/SKILL.md": PDF,
        "skills/pdf/run.sh": Executable("echo hello\n"),
        "skills/pdf/again.md": Link("SKILL.md"),
        "large": b"0123456789" * 50_000,
        "empty": "",
        "other": Submodule(),
        ".gitattributes": "* filter=lfs text eol=crlf\n",
    }
    repository.commit(files, removed=["gone"])
    repository.commit({"only/there/SKILL.md": PDF}, branch="feature/x", tags={"v2": False})
    return repository


@contextmanager
def opened(typed: str, options: GitOptions = OPTIONS) -> Iterator[GitTree]:
    tree = open_git(parse_source(typed), options)
    try:
        yield tree
    finally:
        tree.close()
    assert not Path(tree.repository.directory).exists()


def content(tree: GitTree, path: str) -> bytes:
    return b"".join(tree.read(path))


def test_entries_have_kinds_sizes_and_modes_before_any_file_is_read(upstream: Repository) -> None:
    with opened(upstream.url) as tree:
        assert tree.entries == (
            TreeEntry(".gitattributes", TreeEntryKind.FILE, 27),
            TreeEntry("README.md", TreeEntryKind.FILE, 9),
            TreeEntry("empty", TreeEntryKind.FILE, 0),
            TreeEntry("large", TreeEntryKind.FILE, 500_000),
            TreeEntry("other", TreeEntryKind.SUBMODULE),
            TreeEntry("skills/pdf/SKILL.md", TreeEntryKind.FILE, len(PDF)),
            TreeEntry("skills/pdf/again.md", TreeEntryKind.LINK, target="SKILL.md"),
            TreeEntry("skills/pdf/run.sh", TreeEntryKind.FILE, 11, executable=True),
        )
        assert tree.commit == upstream.id_of("main")
        assert not tree.ref.is_pinned


def test_nothing_of_a_repository_is_checked_out_or_run(upstream: Repository, tmp_path: Path) -> None:
    """Neither the user's hook template nor a filter that the repository names is run."""
    ran = tmp_path / "ran"
    template = tmp_path / "template" / "hooks"
    template.mkdir(parents=True)
    for name in ("post-checkout", "reference-transaction", "post-merge"):
        (template / name).write_text(f"#!/bin/sh\ntouch {ran}\n", encoding="utf-8")
        (template / name).chmod(0o755)
    settings = tmp_path / "gitconfig"
    settings.write_text(
        f"[init]\ntemplateDir = {template.parent}\n[core]\nhooksPath = {template}\n"
        f'[filter "lfs"]\nsmudge = touch {ran}\n'
        f"process = touch {ran}\nrequired = true\n",
        encoding="utf-8",
    )
    options = GitOptions({**ENVIRONMENT, "GIT_CONFIG_GLOBAL": str(settings)}, 60.0)
    with opened(upstream.url, options) as tree:
        assert content(tree, "skills/pdf/SKILL.md") == PDF.encode()
        names = {name for _, _, names in os.walk(tree.repository.directory) for name in names}
    assert not names & {"SKILL.md", "run.sh", "again.md", "large", "index", *os.listdir(template)}
    assert not ran.exists()


def test_gitattributes_never_omit_or_change_a_file(tmp_path: Path) -> None:
    hostile = Repository(tmp_path / "hostile.git")
    text = "$Format:%H$ $Id$\nline\n"
    attributes = "* text eol=crlf ident export-subst export-ignore filter=evil working-tree-encoding=UTF-16LE\n"
    hostile.commit({".gitattributes": attributes, "a/SKILL.md": text, "a/.gitattributes": "SKILL.md export-ignore\n"})
    ran, settings = tmp_path / "ran", tmp_path / "gitconfig"
    (tmp_path / "attributes").write_text("* export-ignore\n", encoding="utf-8")
    settings.write_text(
        f'[core]\nattributesFile = {tmp_path / "attributes"}\n[filter "evil"]\nsmudge = touch {ran}\n', encoding="utf-8"
    )
    for environment in (ENVIRONMENT, {**ENVIRONMENT, "GIT_CONFIG_GLOBAL": str(settings)}):
        with opened(hostile.url, GitOptions(environment, 60.0)) as tree:
            assert [entry.path for entry in tree.entries] == [".gitattributes", "a/.gitattributes", "a/SKILL.md"]
            assert content(tree, "a/SKILL.md") == text.encode()
    assert not ran.exists()


def test_a_reset_branch_is_recognised_as_older(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "back.git")
    first = repository.commit({"SKILL.md": PDF})
    dates = {"GIT_COMMITTER_DATE": "1800000000 +0000"}
    second = repository.git("commit-tree", "-p", first, f"{first}^{{tree}}", stdin=b"two\n", environment=dates)
    other = repository.git("commit-tree", f"{first}^{{tree}}", stdin=b"other\n", environment=dates)
    for commit in (second, other):
        repository.git("update-ref", f"refs/heads/{commit}", commit)
    with opened(repository.url) as tree:
        assert tree.repository.is_ancestor(first, second)
        assert not tree.repository.is_ancestor(first, other)
        assert not tree.repository.is_ancestor(first, "0" * 40)
    repository.git("update-ref", "refs/heads/main", second)
    with opened(repository.url) as tree:
        assert not tree.repository.is_ancestor(second, first)


def test_branches_tags_and_commits_can_be_opened(upstream: Repository) -> None:
    first = upstream.id_of("v1^{commit}")
    for ref, name, has_pdf in [("v1", "refs/tags/v1", b"old"), (first, "", b"old"), ("main", "refs/heads/main", None)]:
        with opened(f"{upstream.url}#{ref}:skills") as tree:
            assert tree.ref.name == name
            assert (content(tree, "skills/pdf/SKILL.md") == b"old") == (has_pdf is not None)
    with opened(f"{upstream.url}#v1") as tree:
        assert tree.commit == first
        assert tree.ref.object_id == upstream.id_of("v1") != first
        assert tree.ref.is_pinned


def test_resolving_a_remote_ref_fetches_nothing(upstream: Repository) -> None:
    assert remote_ref(parse_source(upstream.url), OPTIONS).commit == upstream.id_of("main")
    assert remote_ref(parse_source(f"{upstream.url}#v1"), OPTIONS).commit == upstream.id_of("v1^{commit}")
    assert remote_ref(parse_source(f"{upstream.url}#feature/x"), OPTIONS).name == "refs/heads/feature/x"


def test_sha256_repositories_work(tmp_path: Path) -> None:
    newer = Repository(tmp_path / "newer", object_format="sha256")
    commit = newer.commit({"SKILL.md": PDF})
    with opened(f"{newer.url}#{commit}") as tree:
        assert tree.commit == commit


@pytest.mark.parametrize(
    ("fragment", "reason", "near"),
    [
        ("feature/y", "has no branch and no tag", {"feature/x"}),
        (":pdf", "has no directory 'pdf'", {"skills/pdf"}),
        (":skils/pdf", "has no directory", {"skills/pdf"}),
        ("0" * 40, "cannot be fetched", set()),
    ],
)
def test_unknown_refs_and_paths_are_reported_with_similar_ones(
    upstream: Repository, fragment: str, reason: str, near: set[str]
) -> None:
    with pytest.raises(SourceUnreachable, match=reason) as missing:
        open_git(parse_source(f"{upstream.url}#{fragment}"), OPTIONS)
    assert missing.value.code == "SOURCE_UNREACHABLE"
    assert near <= set(missing.value.facts["near"])


@needs_git
def test_a_directory_without_a_repository_shows_gits_last_line(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreachable, match="does not appear to be a git repository") as missing:
        open_git(parse_source(tmp_path.as_uri()), OPTIONS)
    assert "without file://" in str(missing.value.hint)


def test_an_empty_repository_and_a_tag_of_a_file_are_reported(tmp_path: Path, upstream: Repository) -> None:
    with pytest.raises(SourceUnreachable, match="no commit yet"):
        open_git(parse_source(Repository(tmp_path / "empty").url), OPTIONS)
    upstream.git("update-ref", "refs/tags/file", upstream.id_of("main:README.md"))
    with pytest.raises(SourceUnreachable, match="names no commit"):
        open_git(parse_source(f"{upstream.url}#file"), OPTIONS)
    upstream.git("update-ref", "-d", "refs/tags/file")


@pytest.mark.slow
def test_a_recursive_tree_is_refused_early(tmp_path: Path) -> None:
    """Ten objects that a checkout would expand to ten thousand million files."""
    bomb = Repository(tmp_path / "bomb.git")
    held = bomb.git("hash-object", "-w", "--stdin", stdin=b"x")
    kind = "100644 blob"
    for _ in range(10):
        held = bomb.git("mktree", stdin="".join(f"{kind} {held}\td{at}\n" for at in range(10)).encode())
        kind = "040000 tree"
    bomb.git("update-ref", "refs/heads/main", bomb.git("commit-tree", held, stdin=b"bomb\n"))
    with pytest.raises(SourceUnreachable, match="the list of its files has more than 64 MiB"):
        open_git(parse_source(bomb.url), OPTIONS)


def test_a_path_list_that_would_fill_memory_is_refused_early(tmp_path: Path) -> None:
    """A megabyte of trees with paths of 120,000 bytes; git does not limit names."""
    bomb = Repository(tmp_path / "bomb.git")
    held = bomb.git("hash-object", "-w", "--stdin", stdin=b"x")
    held = bomb.git("mktree", stdin="".join(f"100644 blob {held}\tf{at}\n" for at in range(1_000)).encode())
    for _ in range(30):
        held = bomb.git("mktree", stdin=f"040000 tree {held}\t{'d' * 4_000}\n".encode())
    bomb.git("update-ref", "refs/heads/main", bomb.git("commit-tree", held, stdin=b"bomb\n"))
    with pytest.raises(SourceUnreachable, match="the list of its files has more than 64 MiB"):
        open_git(parse_source(bomb.url), OPTIONS)


def test_a_failed_fetch_leaves_no_files(upstream: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(SourceUnreachable):
        open_git(parse_source(f"{upstream.url}#:nowhere"), OPTIONS)
    assert list(tmp_path.iterdir()) == []
