"""Parsing a site's skill index: accepted and skipped entries, and refused indexes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from skillhub_mcp.errors import SourceUnreachable
from skillhub_mcp.library.sources.well_known import (
    SCHEMA,
    ArtifactKind,
    SiteSkill,
    index_text,
    index_urls,
    is_index,
    parse_index,
)

URL = "https://team.example/.well-known/agent-skills/index.json"
DIGEST = "sha256:" + "0a" * 32
ENTRY = {"name": "pdf-forms", "type": "archive", "description": "Fills.", "url": "pdf-forms.zip", "digest": DIGEST}


def index(*entries: object, **top: object) -> bytes:
    return json.dumps({"$schema": SCHEMA, "skills": list(entries), **top}).encode()


def test_an_entry_has_its_kind_digest_and_absolute_url() -> None:
    (found,) = parse_index(index(ENTRY, unknown=1), URL).entries
    assert found == SiteSkill(
        "pdf-forms",
        ArtifactKind.ARCHIVE,
        "Fills.",
        "https://team.example/.well-known/agent-skills/pdf-forms.zip",
        DIGEST,
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("/s/a.zip", "https://team.example/s/a.zip"),
        ("a/SKILL.md", "https://team.example/.well-known/agent-skills/a/SKILL.md"),
        ("//cdn.example/a.zip", "https://cdn.example/a.zip"),
        ("https://cdn.example/a.zip", "https://cdn.example/a.zip"),
    ],
)
def test_urls_are_resolved_against_the_index(written: str, meant: str) -> None:
    assert parse_index(index({**ENTRY, "url": written}), URL).entries[0].url == meant


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        ({"name": "../up"}, "'../up'"),
        ({"name": "Big"}, "'Big'"),
        ({"name": "a" * 65}, "at most 64"),
        ({"name": 3}, "name 3"),
        ({"type": "wheel"}, "'wheel'"),
        ({"description": ""}, "description"),
        ({"description": "d" * 1_025}, "at most 1024"),
        ({"url": ""}, "url"),
        ({"url": "file:///tmp/x.zip"}, "neither https nor http"),
        ({"url": "https://[x/y"}, "malformed"),
        ({"digest": "sha256:00"}, "digest"),
        ({"digest": "md5:" + "0" * 64}, "digest"),
        ({"digest": DIGEST.upper()}, "digest"),
    ],
)
def test_a_malformed_entry_is_skipped_with_the_reason(change: dict[str, object], reported: str) -> None:
    found = parse_index(index({**ENTRY, **change}, {**ENTRY, "name": "other"}), URL)
    assert [entry.name for entry in found.entries] == ["other"]
    (reason,) = found.skipped
    assert reason.startswith("skipped entry 1: ")
    assert reported in reason


def test_thousands_of_malformed_entries_are_summarised() -> None:
    found = parse_index(index(*[{**ENTRY, "name": 3}] * 5_000, ENTRY), URL)
    assert [entry.name for entry in found.entries] == ["pdf-forms"]
    assert len(found.skipped) == 21
    assert found.skipped[-1] == "skipped 4,980 more malformed entries"


@pytest.mark.parametrize(
    ("content", "reported"),
    [
        (b"<html>", "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[]", "no list 'skills'"),
        (b'{"$schema": 1, "skills": {}}', "no list 'skills'"),
        (b'{"skills": []}', "draft 0.1.0"),
        (b'{"$schema": "https://schemas.agentskills.io/discovery/0.3.0/schema.json", "skills": []}', "0.3.0"),
        (b"[" * 100_000, "nested too deeply"),
        (index(ENTRY, ENTRY), "two skills the name 'pdf-forms'"),
    ],
)
def test_an_index_of_another_version_is_refused_with_the_reason(content: bytes, reported: str) -> None:
    with pytest.raises(SourceUnreachable, match=reported):
        parse_index(content, URL)


def test_an_index_is_recognised_by_its_schema_in_any_version() -> None:
    assert is_index(index(ENTRY))
    assert is_index(b'{"$schema": "https://schemas.agentskills.io/discovery/9/schema.json"}')
    assert not is_index(b'{"skills": []}')
    assert not is_index(b"---\nname: a\n---\n")


@pytest.mark.parametrize(
    ("typed", "places"),
    [
        ("https://a.example", ["https://a.example"]),
        ("https://a.example/?q=1", ["https://a.example"]),
        ("https://a.example/team/x/", ["https://a.example/team/x", "https://a.example"]),
        ("https://a.example/.well-known/agent-skills", ["https://a.example"]),
        ("https://a.example/.well-known/agent-skills/index.json", ["https://a.example"]),
    ],
)
def test_an_index_is_looked_up_at_the_path_first_and_then_at_the_root(typed: str, places: list[str]) -> None:
    assert list(index_urls(typed)) == [f"{place}/.well-known/agent-skills/index.json" for place in places]


def test_an_index_survives_writing_and_reading() -> None:
    entry = SiteSkill("b", ArtifactKind.SKILL_MD, "Ünïcode, „so“.", "b/SKILL.md", DIGEST)
    url = "https://team.example/.well-known/agent-skills/b/SKILL.md"
    assert list(parse_index(index_text([entry]).encode(), URL).entries) == [replace(entry, url=url)]
