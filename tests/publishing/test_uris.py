"""Each skill has one URI, which reflects its location and does not depend on other skills."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.conftest import SkillWriter

from skillhub_mcp.publishing.uris import MAX_URI_CHARACTERS, build_uri, parse_uri, published_name, skill_paths
from skillhub_mcp.skills.roots import Source, distinct_roots
from skillhub_mcp.skills.scanner import scan

Places = list[tuple[Source, Path]]


def uris(places: Places) -> dict[str, str]:
    """Return the URI of every skill below these roots, by its directory."""
    snapshot = scan(distinct_roots((source, str(path)) for source, path in places), memory={}).snapshot
    return {skill.directory: build_uri(path) for path, skill in skill_paths(snapshot).items()}


def uri_in(places: Places, directory: Path) -> str | None:
    return uris(places).get(str(directory.resolve()))


@pytest.fixture
def hub(skills_dir: Path) -> Places:
    return [(Source.HUB, skills_dir)]


@pytest.mark.parametrize(
    ("directory", "name", "uri"),
    [
        ("pdf", "pdf", "skill://hub/pdf"),
        ("finance/refunds", "refunds", "skill://hub/finance/refunds"),
        ("pdf-tools", "pdf", "skill://hub/pdf-tools/pdf"),
        ("Team A/100% #1?/pdf", "pdf", "skill://hub/Team%20A/100%25%20%231%3F/pdf"),
        ("概要/pdf", "pdf", "skill://hub/%E6%A6%82%E8%A6%81/pdf"),
        ("a.b_c-d~e/pdf", "pdf", "skill://hub/a.b_c-d~e/pdf"),
        ("~home/pdf", "pdf", "skill://hub/~home/pdf"),
    ],
)
def test_a_uri_has_the_source_the_directories_and_the_name(
    hub: Places, write_skill: SkillWriter, directory: str, name: str, uri: str
) -> None:
    assert uri_in(hub, write_skill(name, directory=directory)) == uri


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("Wild Name! (v2)", "wild-name-v2"),
        ("C++", "c"),
        ("Über", "uber"),
        ("under_score", "under-score"),
        ("-edge-", "edge"),
        ("a--b", "a-b"),
        ("x" * 70, "x" * 64),
        ("ab " * 30, ("ab-" * 30)[:64].rstrip("-")),
        ("日本語", "plain"),
        ("straße", "plain"),
        ("!!!", "plain"),
    ],
)
def test_a_name_that_hosts_reject_is_converted_to_ascii_or_replaced_by_the_directorys(
    hub: Places, write_skill: SkillWriter, name: str, published: str
) -> None:
    expected = "skill://hub/plain" if published == "plain" else f"skill://hub/plain/{published}"
    assert uri_in(hub, write_skill(f'"{name}"', directory="plain")) == expected


def test_a_skill_without_a_valid_ascii_name_has_no_uri(skills_dir: Path, write_skill: SkillWriter) -> None:
    write_skill("日本語", directory="概要")
    write_skill("🎉", directory="___")
    snapshot = scan(distinct_roots([(Source.HUB, str(skills_dir))]), memory={}).snapshot
    assert [published_name(skill) for skill in snapshot.everything] == [None, None]
    assert skill_paths(snapshot) == {}


def test_each_root_of_a_source_has_its_own_label(tmp_path: Path, write_skill: SkillWriter) -> None:
    places = [(Source.HUB, tmp_path / name) for name in ("one", "two", "three")]
    first = write_skill("git", root=tmp_path / "one")
    second = write_skill("git", root=tmp_path / "two")
    # git is a skill in another root: this skill must not be mistaken for files of it.
    below = write_skill("rebase", root=tmp_path / "three", directory="git/rebase")
    together = uris(places)
    assert [together[str(one)] for one in (first, second, below)] == [
        "skill://hub/git",
        "skill://hub-2/git",
        "skill://hub-3/git/rebase",
    ]
    (first / "SKILL.md").unlink()
    assert uris(places) == {directory: uri for directory, uri in together.items() if directory != str(first)}


def test_the_uri_of_a_linked_skill_cannot_collide_with_one_in_the_root(
    tmp_path: Path, skills_dir: Path, hub: Places, write_skill: SkillWriter
) -> None:
    outside, other = tmp_path / "outside", tmp_path / "other"
    linked = [
        write_skill("a", root=outside, directory="a"),
        write_skill("b", root=outside, directory="x/a"),
        write_skill("a", root=other, directory="a"),
    ]
    for number, target in enumerate(linked):
        os.symlink(target, skills_dir / f"link-{number}")
    plain = write_skill("a")
    found = uris(hub)
    assert found[str(plain)] == "skill://hub/a"
    linked_uris = [found[str(one)] for one in linked]
    assert all(uri.startswith("skill://hub-other/") for uri in linked_uris)
    assert [uri.rpartition("/")[2] for uri in linked_uris] == ["a", "b", "a"]
    assert len(set(linked_uris)) == 3
    # The URI depends on the skill's location only, not on the name of the link or on other skills.
    for number in range(3):
        (skills_dir / f"link-{number}").unlink()
    os.symlink(linked[0], skills_dir / "renamed")
    assert uri_in(hub, linked[0]) == linked_uris[0]


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "skill:",
        "skill://",
        "skill:///pdf",
        "SKILL://hub/pdf",
        "file:///etc/passwd",
        "skill://hub/pdf/",
        "skill://hub//pdf",
        "skill://hub/./pdf",
        "skill://hub/../pdf",
        "skill://hub/%2e%2e/pdf",
        "skill://hub/%2E/pdf",
        "skill://hub/a%2fb",
        "skill://hub/a%5cb",
        "skill://hub/a\\b",
        "skill://hub/pdf?x=1",
        "skill://hub/pdf#top",
        "skill://hub/\ud800",
        "skill://hub/" + "x" * MAX_URI_CHARACTERS,
        "skill://hub/" + "x/" * MAX_URI_CHARACTERS + "y",
    ],
    ids=lambda uri: repr(uri[:40]),
)
def test_an_invalid_uri_has_no_segments(uri: str) -> None:
    assert parse_uri(uri) is None


@pytest.mark.parametrize(
    ("uri", "last"),
    [
        ("skill://hub/a%20b", "a b"),
        ("skill://hub/a b", "a b"),
        ("skill://hub/Ü", "Ü"),
        ("skill://hub/%252e%252e", "%2e%2e"),
        ("skill://hub/%00", "\0"),
        ("skill://hub/%zz", "%zz"),
        ("skill://hub/...", "..."),
    ],
)
def test_segments_are_decoded_once(uri: str, last: str) -> None:
    assert parse_uri(uri) == ("hub", last)
