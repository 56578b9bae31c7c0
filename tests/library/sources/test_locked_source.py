"""Sources as a lock writes them, and back."""

from __future__ import annotations

import pytest

from skillhub_mcp.errors import SourceUnreadable
from skillhub_mcp.library.sources.source import is_same_place, locked_from, parse_source, place_of, source_of
from skillhub_mcp.locks.lock_file import LockedSkill


@pytest.mark.parametrize(
    ("typed", "kind", "source"),
    [
        ("acme/skills", "github", "acme/skills"),
        ("acme/skills#v1", "github", "acme/skills"),
        ("gitlab:group/sub/skills#main", "gitlab", "group/sub/skills"),
        ("https://git.example/x.git", "git", "https://git.example/x.git"),
        ("git+https://git.example/x", "git", "https://git.example/x"),
        ("git@host.example:team/x.git#v2", "git", "git@host.example:team/x.git"),
        ("file:///srv/skills", "git", "file:///srv/skills"),
        ("/srv/skills", "local", "/srv/skills"),
        ("/srv/skills.zip", "local", "/srv/skills.zip"),
        ("https://example.org/skills.tar.gz", "url", "https://example.org/skills.tar.gz"),
    ],
)
def test_a_source_survives_its_lock_entry(typed: str, kind: str, source: str) -> None:
    parsed = parse_source(typed)
    locked = locked_from("pdf", parsed, "skills/pdf")
    assert (locked.source_type, locked.source, locked.ref) == (kind, source, parsed.ref)
    assert locked.skill_path == "skills/pdf/SKILL.md"
    assert place_of(locked) == "skills/pdf"
    assert source_of(locked) == parsed


def test_a_skill_of_a_site_index_is_requested_by_name() -> None:
    site = parse_source("https://www.example.org/team")
    locked = locked_from("pdf-2", site, "pdf", artifact="sha256:0")
    assert (locked.source, locked.source_type, locked.well_known_digest) == ("example.org", "well-known", "sha256:0")
    assert (source_of(locked).location, source_of(locked).skills) == ("https://www.example.org/team", ("pdf",))
    assert place_of(locked_from("pdf", site, "pdf", artifact="sha256:0")) == "pdf"


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("git", "ext::sh -c id"),
        ("git", "--upload-pack=id"),
        ("git", "http://git.example/x.git"),
        ("git", "git://git.example/x.git"),
        ("github", "ext::sh"),
        ("github", "../../x"),
        ("gitlab", "-x/y"),
        ("well-known", "example.org"),
        ("node_modules", "left-pad"),
        ("", ""),
    ],
)
def test_sources_that_users_cannot_type_are_refused_in_locks(kind: str, source: str) -> None:
    with pytest.raises(SourceUnreadable):
        source_of(LockedSkill("pdf", source, kind, source_url=source if kind == "well-known" else ""))


def test_another_ref_is_the_same_place() -> None:
    first = locked_from("pdf", parse_source("acme/skills#v1"), "pdf")
    assert is_same_place(first, locked_from("pdf", parse_source("acme/skills#v2"), "pdf"))
    assert not is_same_place(first, locked_from("pdf", parse_source("acme/skills"), "pdf2"))
    assert not is_same_place(first, locked_from("pdf", parse_source("mallory/skills"), "pdf"))
