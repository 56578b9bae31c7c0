"""A site as a source: a direct file or an index, and no files left after a failure."""

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
    """Give the site an index: text is a SKILL.md, bytes are an archive."""
    listed = []
    for name, content in skills.items():
        kind = "archive" if content.startswith(b"PK") else "skill-md"
        site.answers[f"{top}/.well-known/agent-skills/{name}"] = whole(content)
        entry = {"name": name, "type": kind, "description": "d", "url": name, "digest": digest(content)}
        listed.append({**entry, **change})
    site.answers[top + WELL_KNOWN_PATH] = whole(json.dumps({"$schema": SCHEMA, "skills": listed}).encode())


def test_skill_files_and_archives_are_recognised_by_content(site: LyingSite) -> None:
    site.answers["/a.zip"] = whole(SKILL, headers={"content-type": "application/zip"})
    site.answers["/SKILL.md"] = whole(ZIP, headers={"content-type": "text/markdown"})
    text, archive = opened(site, "/a.zip"), opened(site, "/SKILL.md")
    assert (paths(text), b"".join(text.read("SKILL.md"))) == (["SKILL.md"], SKILL)
    assert (text.digests, archive.digests) == ({"": digest(SKILL)}, {"": digest(ZIP)})
    text.close()
    archive.close()
    assert os.listdir(tempfile.gettempdir()) == []


def test_skills_of_an_index_are_stored_side_by_side_with_digests(site: LyingSite) -> None:
    publish(site, {"pdf-forms": SKILL, "many-files": ZIP})
    tree = opened(site)
    assert paths(tree) == ["many-files/SKILL.md", "pdf-forms/SKILL.md"]
    assert b"".join(tree.read("pdf-forms/SKILL.md")) == SKILL
    assert tree.digests == {"pdf-forms": digest(SKILL), "many-files": digest(ZIP)}
    tree.close()
    assert os.listdir(tempfile.gettempdir()) == []


def test_only_requested_skills_are_fetched_and_unknown_ones_get_a_suggestion(site: LyingSite) -> None:
    publish(site, {"pdf-forms": SKILL, "many-files": ZIP})
    assert paths(opened(site, skills=["pdf-forms"])) == ["pdf-forms/SKILL.md"]
    assert "/.well-known/agent-skills/many-files" not in site.paths
    assert len(paths(opened(site, skills=["*"]))) == 2
    with pytest.raises(SkillNotFound) as missing:
        opened(site, skills=["pdf-form"])
    assert list(missing.value.near) == ["pdf-forms"]


def test_an_artifact_with_a_wrong_digest_refuses_the_whole_source(site: LyingSite) -> None:
    publish(site, {"pdf-forms": SKILL, "many-files": ZIP})
    site.answers["/.well-known/agent-skills/pdf-forms"] = whole(SKILL + b"and more\n")
    with pytest.raises(IntegrityFailed) as refused:
        opened(site)
    assert (refused.value.facts["expected"], refused.value.found) == (digest(SKILL), digest(SKILL + b"and more\n"))
    assert os.listdir(tempfile.gettempdir()) == []


def test_an_index_cannot_redirect_to_private_addresses(site: LyingSite) -> None:
    publish(site, {"pdf-forms": SKILL}, url="file:///tmp/x")
    with pytest.raises(SourceUnreachable, match="lists no skill"):
        opened(site)
    publish(site, {"pdf-forms": SKILL}, url="http://skills.example/x")
    with pytest.raises(SourceUnreachable, match="on the network") as refused:
        opened(site)
    assert "--insecure" in str(refused.value.hint)


def test_an_index_below_the_path_wins_over_the_host_index(site: LyingSite) -> None:
    publish(site, {"of-the-host": SKILL})
    publish(site, {"of-the-team": SKILL}, top="/team")
    assert paths(opened(site, "/team/")) == ["of-the-team/SKILL.md"]
    site.answers["/team" + WELL_KNOWN_PATH] = whole(b"<html>", status="404 Not Found")
    # A typed path does not mean the whole host, but users may name skills.
    with pytest.raises(SourceUnreachable) as refused:
        opened(site, "/team/")
    assert refused.value.hint == f"its host has one, which is {site.url}"
    assert paths(opened(site, "/team/", ["of-the-host"])) == ["of-the-host/SKILL.md"]


def test_an_index_url_may_be_typed_and_may_redirect(site: LyingSite) -> None:
    publish(site, {"pdf-forms": SKILL}, top="/new")
    site.answers["/skills.json"] = leads_to("/new" + WELL_KNOWN_PATH)
    assert paths(opened(site, "/skills.json")) == ["pdf-forms/SKILL.md"]


@pytest.mark.parametrize(
    ("status", "reported"), [("404 Not Found", "has no index"), ("401 Unauthorized", "token"), ("500 Oh", "500")]
)
def test_a_site_without_skills_is_reported(site: LyingSite, status: str, reported: str) -> None:
    site.answers["/"] = whole(b"<html>hello</html>")
    site.answers[WELL_KNOWN_PATH] = whole(b"", status=status)
    with pytest.raises(SourceUnreachable, match=reported):
        opened(site, "/")


def test_each_refusal_suggests_a_fix(site: LyingSite) -> None:
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


def test_pages_that_answer_200_to_everything_are_not_skills(site: LyingSite) -> None:
    site.answers["/"] = whole(b"---\nfoo: [\n---\n")
    site.answers[WELL_KNOWN_PATH] = whole(b"<html>not found, but 200</html>")
    with pytest.raises(SourceUnreachable, match="not an index of skills: line 1 is not JSON"):
        opened(site, "/")


def test_skipped_index_entries_are_reported(site: LyingSite, caplog: pytest.LogCaptureFixture) -> None:
    publish(site, {"pdf-forms": SKILL, "UPPER": SKILL})
    assert paths(opened(site)) == ["pdf-forms/SKILL.md"]
    assert "'UPPER'" in caplog.text
