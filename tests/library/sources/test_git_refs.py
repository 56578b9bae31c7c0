"""Resolving the ref of a source."""

from __future__ import annotations

import pytest

from skillhub_mcp.errors import SourceUnreachable
from skillhub_mcp.library.sources.git_tree import RemoteRef, asked_for, parse_refs, ref_of
from skillhub_mcp.library.sources.source import parse_source

A, B, C = "a" * 40, "b" * 40, "c" * 40
REFS = parse_refs(
    f"ref: refs/heads/main\tHEAD\n{A}\tHEAD\n{A}\trefs/heads/main\n{B}\trefs/heads/feature\n{C}\trefs/heads/feature/x\n"
    f"{B}\trefs/tags/v1\n{A}\trefs/tags/v1^{{}}\n{A}\trefs/tags/v1.2\n{A}\trefs/heads/both\n{B}\trefs/tags/both\n"
    f"{A}\trefs/heads/same\n{A}\trefs/tags/same\n".encode()
)
PAGE = "https://github.com/o/r/tree/"


def test_a_ref_has_a_full_name_and_a_commit() -> None:
    assert REFS["HEAD"] == RemoteRef("refs/heads/main", A, A)
    assert REFS["refs/tags/v1"] == RemoteRef("refs/tags/v1", A, B)
    assert parse_refs(f"{A}\tHEAD\n".encode())["HEAD"] == RemoteRef("HEAD", A, A)
    assert parse_refs(b"warning: x\n\xff\tHEAD\nnothing\n") == {}


@pytest.mark.parametrize(
    ("typed", "name", "pinned"),
    [
        ("o/r", "refs/heads/main", False),
        ("o/r#HEAD", "refs/heads/main", False),
        ("o/r#feature", "refs/heads/feature", False),
        ("o/r#feature/x", "refs/heads/feature/x", False),
        ("o/r#v1.2", "refs/tags/v1.2", True),
        ("o/r#refs/tags/both", "refs/tags/both", True),
        ("o/r#same", "refs/tags/same", True),
        (f"o/r/a#{C}", "", True),
        (f"{PAGE}feature/y/a", "refs/heads/feature", False),
        (f"{PAGE}v1.2/a/b", "refs/tags/v1.2", True),
    ],
)
def test_a_source_means_a_branch_a_tag_or_a_commit(typed: str, name: str, pinned: bool) -> None:
    found = ref_of(parse_source(typed), REFS)
    assert (found.name, found.is_pinned) == (name, pinned)


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("o/r#v1.3", "did you mean v1.2"),
        (f"{PAGE}featur/a/b", "did you mean feature"),
        (f"{PAGE}release/1/a", "did you mean release/1?"),
        ("o/r#zzzz", "there are"),
        ("o/r#0123abc", "write the whole id of a commit"),
    ],
)
def test_an_unknown_ref_is_reported_with_similar_ones(typed: str, hint: str) -> None:
    refs = {**REFS, "refs/heads/release/1": REFS["HEAD"]}
    with pytest.raises(SourceUnreachable, match="no branch and no tag") as missing:
        ref_of(parse_source(typed), refs)
    assert hint in str(missing.value.hint)


def test_hostile_ref_names_from_a_server_are_ignored() -> None:
    """Git fetches the ref of HEAD: a refspec there could write anywhere."""
    for name in (
        "+refs/heads/x:refs/heads/y",
        "--upload-pack=x",
        "refs/heads/a:b",
        "refs/heads/a\x1b[2J",
        "refs/tags/v1",
    ):
        assert parse_refs(f"ref: {name}\tHEAD\n{A}\tHEAD\n".encode())["HEAD"].name == "HEAD"
    assert parse_refs(f"{A}\trefs/heads/a\x1b[2J\n{A}\trefs/heads/\u202ea\n".encode()) == {}


def test_a_branch_and_a_tag_with_one_name_are_ambiguous() -> None:
    with pytest.raises(SourceUnreachable, match="a branch and a tag 'both'") as two:
        ref_of(parse_source("o/r#both"), REFS)
    assert "#refs/heads/both or #refs/tags/both" in str(two.value.hint)


def test_only_the_needed_refs_are_requested() -> None:
    assert asked_for(parse_source("o/r")) == ("HEAD",)
    assert asked_for(parse_source("o/r#v1")) == ("refs/heads/*", "refs/tags/*")
    assert asked_for(parse_source("o/r#refs/pull/1/head"))[0] == "refs/pull/1/head"
    assert asked_for(parse_source(f"o/r#{C}")) == ()
    assert asked_for(parse_source(f"{PAGE}main/a")) == ("refs/heads/*", "refs/tags/*")
