"""A site as a source: known by what it gives, else by its index; and nothing left where it fails."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from tests.library.archives.archives import pack_zip
from tests.library.sources.lying_server import LyingSite, leads_to, lying_site, torn, whole

from skillhub_mcp.errors import IntegrityFailed, SkillNotFound, SourceUnreachable
from skillhub_mcp.library.sources.opening import OpenOptions
from skillhub_mcp.library.sources.web_source import open_web
from skillhub_mcp.library.sources.well_known import SCHEMA, WELL_KNOWN_PATH
from skillhub_mcp.library.tree import Bounds, Tree

pytestmark = pytest.mark.slow

SKILL = b"---\nname: pdf-forms\ndescription: Fills forms.\n---\n# How\n"
ZIP = pack_zip({"SKILL.md": SKILL})
OPTIONS = OpenOptions("/", bounds=Bounds(fetched_bytes=1_000_000))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LyingSite]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with lying_site() as site:
        yield site


def opened(site: LyingSite, path: str = "", skills: Sequence[str] = (), options: OpenOptions = OPTIONS) -> Tree:
    return open_web(site.url + path, skills, options)


def paths(tree: Tree) -> list[str]:
    return [entry.path for entry in tree.entries]


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def publish(site: LyingSite, skills: Mapping[str, bytes], top: str = "", **change: object) -> None:
    """Let the site have an index, in which a text is a SKILL.md and the rest archives."""
    listed = []
    for name, content in skills.items():
        kind = "archive" if content.startswith(b"PK") else "skill-md"
        site.answers[f"{top}/.well-known/agent-skills/{name}"] = whole(content)
        entry = {"name": name, "type": kind, "description": "d", "url": name, "digest": digest(content)}
        listed.append({**entry, **change})
    site.answers[top + WELL_KNOWN_PATH] = whole(json.dumps({"$schema": SCHEMA, "skills": listed}).encode())


def test_a_skill_md_and_an_archive_are_known_by_their_content_whatever_they_are_called(site: LyingSite) -> None:
    site.answers["/a.zip"] = whole(SKILL, headers={"content-type": "application/zip"})
    site.answers["/SKILL.md"] = whole(ZIP, headers={"content-type": "text/markdown"})
    text, archive = opened(site, "/a.zip"), opened(site, "/SKILL.md")
    assert (paths(text), b"".join(text.read("SKILL.md"))) == (["SKILL.md"], SKILL)
    assert (text.tree_id(""), archive.tree_id("")) == (digest(SKILL), digest(ZIP))
    text.close()
    archive.close()
    assert os.listdir(tempfile.gettempdir()) == []


def test_the_skills_of_an_index_lie_side_by_side_each_with_its_digest(site: LyingSite) -> None:
    publish(site, {"pdf-forms": SKILL, "many-files": ZIP})
    tree = opened(site)
    assert paths(tree) == ["many-files/SKILL.md", "pdf-forms/SKILL.md"]
    assert b"".join(tree.read("pdf-forms/SKILL.md")) == SKILL
    assert [tree.tree_id(name) for name in ("pdf-forms", "many-files", "")] == [digest(SKILL), digest(ZIP), ""]
    tree.close()
    assert os.listdir(tempfile.gettempdir()) == []


def test_only_what_was_named_is_fetched_and_what_is_not_there_is_told_with_the_nearest(site: LyingSite) -> None:
    publish(site, {"pdf-forms": SKILL, "many-files": ZIP})
    assert paths(opened(site, skills=["pdf-forms"])) == ["pdf-forms/SKILL.md"]
    assert "/.well-known/agent-skills/many-files" not in site.paths
    assert len(paths(opened(site, skills=["*"]))) == 2
    with pytest.raises(SkillNotFound) as missing:
        opened(site, skills=["pdf-form"])
    assert list(missing.value.near) == ["pdf-forms"]


def test_an_artifact_of_other_bytes_than_promised_refuses_all_and_leaves_nothing(site: LyingSite) -> None:
    publish(site, {"pdf-forms": SKILL, "many-files": ZIP})
    site.answers["/.well-known/agent-skills/pdf-forms"] = whole(SKILL + b"and more\n")
    with pytest.raises(IntegrityFailed) as refused:
        opened(site)
    assert (refused.value.expected, refused.value.found) == (digest(SKILL), digest(SKILL + b"and more\n"))
    assert os.listdir(tempfile.gettempdir()) == []


def test_a_torn_artifact_refuses_all(site: LyingSite) -> None:
    publish(site, {"pdf-forms": SKILL})
    site.answers["/.well-known/agent-skills/pdf-forms"] = torn(SKILL, missing=1)
    with pytest.raises(SourceUnreachable, match="incomplete"):
        opened(site)


def test_an_index_leads_to_no_address_inside_that_was_not_typed(site: LyingSite) -> None:
    publish(site, {"pdf-forms": SKILL}, url="file:///tmp/x")
    with pytest.raises(SourceUnreachable, match="lists no skill"):
        opened(site)
    publish(site, {"pdf-forms": SKILL}, url="http://skills.example/x")
    with pytest.raises(SourceUnreachable, match="on the network") as refused:
        opened(site)
    assert "--insecure" in str(refused.value.hint)


def test_an_index_of_its_own_comes_before_that_of_the_host(site: LyingSite) -> None:
    publish(site, {"of-the-host": SKILL})
    publish(site, {"of-the-team": SKILL}, top="/team")
    assert paths(opened(site, "/team/")) == ["of-the-team/SKILL.md"]
    site.answers["/team" + WELL_KNOWN_PATH] = whole(b"<html>", status="404 Not Found")
    # Whoever types a path does not mean all that the host has, but may name what they mean.
    with pytest.raises(SourceUnreachable) as refused:
        opened(site, "/team/")
    assert refused.value.hint == f"its host has one, which is {site.url}"
    assert paths(opened(site, "/team/", ["of-the-host"])) == ["of-the-host/SKILL.md"]


def test_an_index_may_be_typed_itself_and_may_have_moved(site: LyingSite) -> None:
    publish(site, {"pdf-forms": SKILL}, top="/new")
    site.answers["/skills.json"] = leads_to("/new" + WELL_KNOWN_PATH)
    assert paths(opened(site, "/skills.json")) == ["pdf-forms/SKILL.md"]


@pytest.mark.parametrize(
    ("status", "told"), [("404 Not Found", "has no index"), ("401 Unauthorized", "token"), ("500 Oh", "500")]
)
def test_a_site_without_skills_is_told_as_what_it_is(site: LyingSite, status: str, told: str) -> None:
    site.answers["/"] = whole(b"<html>hello</html>")
    site.answers[WELL_KNOWN_PATH] = whole(b"", status=status)
    with pytest.raises(SourceUnreachable, match=told):
        opened(site, "/")


def test_each_refusal_says_what_to_do(site: LyingSite) -> None:
    site.answers["/loop"] = leads_to("/loop")
    site.answers["/torn"] = torn(SKILL, missing=1)
    site.answers["/encoded"] = whole(SKILL, headers={"content-encoding": "br"})
    site.answers["/away"] = leads_to("ftp://127.0.0.1/x")
    site.answers["/malformed"] = leads_to("http://[")
    for status in ("401 No", "403 No", "407 No", "429 No", "500 No"):
        site.answers[f"/{status[:3]}"] = whole(b"", status=status)
    site.answers[f"/torn-index{WELL_KNOWN_PATH}"] = whole(b"{")
    site.answers[f"/no-list{WELL_KNOWN_PATH}"] = whole(json.dumps({"$schema": SCHEMA}).encode())
    publish(site, {}, top="/empty")
    fixes = {}
    for path in (*site.answers, "/torn-index", "/no-list", "/empty", "/nothing"):
        with pytest.raises(SourceUnreachable) as refused:
            opened(site, path)
        fixes[path] = refused.value.hint
    with pytest.raises(SourceUnreachable) as unreachable:
        open_web("http://127.0.0.1:1/", [], OPTIONS)
    fixes["nobody"] = unreachable.value.hint
    assert [path for path, fix in fixes.items() if not fix] == []
    assert "SKILLHUB_SOURCE_TOKENS" in str(fixes["/401"])


def test_pages_that_answer_everything_with_200_are_no_skills(site: LyingSite) -> None:
    site.answers["/"] = whole(b"---\nfoo: [\n---\n")
    site.answers[WELL_KNOWN_PATH] = whole(b"<html>not found, but 200</html>")
    with pytest.raises(SourceUnreachable, match="not an index of skills: line 1 is not JSON"):
        opened(site, "/")


def test_what_an_index_skips_is_told(site: LyingSite, caplog: pytest.LogCaptureFixture) -> None:
    publish(site, {"pdf-forms": SKILL, "UPPER": SKILL})
    assert paths(opened(site)) == ["pdf-forms/SKILL.md"]
    assert "'UPPER'" in caplog.text
