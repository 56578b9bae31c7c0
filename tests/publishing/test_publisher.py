"""Hosts that read skills natively get the current files of the available skills, and nothing else."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.conftest import SkillWriter, own_rules
from tests.publishing.publishers import FILES, publishing
from tests.traversal import LINKS_OUT, NEVER_DECODED, REFUSED, SECRET, Hostile, plant

from skillhub_mcp.errors import ConfirmationRequired, InvalidArgument, PermissionDenied, ResourceNotFound
from skillhub_mcp.policy.access import Grant
from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.publishing.publisher import Publisher

Environment = dict[str, str]


def listed(publisher: Publisher) -> list[str]:
    page = publisher.page()
    assert page.cursor is None
    return [skill.uri for skill in page.skills]


def walked(publisher: Publisher, limit: int) -> list[list[str]]:
    """Return the names on each page."""
    pages, cursor = [], None
    while True:
        page = publisher.page(cursor, limit=limit)
        pages.append([skill.path[-1] for skill in page.skills])
        cursor = page.cursor
        if cursor is None:
            return pages


def is_unknown(publisher: Publisher, uri: str) -> None:
    """Assert that every request for `uri` fails as for a URI that never existed."""
    for ask in (publisher.skill, publisher.content, publisher.children):
        with pytest.raises(ResourceNotFound) as raised:
            ask(uri)
        assert raised.value.facts == {"uri": uri}


def permissions(environment: Environment, **lists: list[dict[str, str]]) -> Environment:
    own_rules(**lists)
    return environment


# Listing


def test_pages_list_every_skill_once_sorted_by_uri(hub_environment: Environment, write_skill: SkillWriter) -> None:
    for name in "bdfaceg":
        write_skill(name)
    with publishing(hub_environment) as (publisher, _):
        assert walked(publisher, 3) == [["a", "b", "c"], ["d", "e", "f"], ["g"]]
        assert walked(publisher, 7) == [list("abcdefg")]
        assert walked(publisher, 1) == [[name] for name in "abcdefg"]


def test_a_cursor_continues_after_additions_and_removals(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    skills = {name: write_skill(name) for name in "abcdef"}
    with publishing(hub_environment) as (publisher, _):
        cursor = publisher.page(limit=3).cursor
    shutil.rmtree(skills["c"])
    write_skill("aa")
    write_skill("dd")
    with publishing(hub_environment) as (publisher, _):
        assert [skill.path[-1] for skill in publisher.page(cursor, limit=3).skills] == ["d", "dd", "e"]


@pytest.mark.parametrize(
    "cursor",
    ["", "zzz", "é", "====", "a" * 100_000, base64.urlsafe_b64encode(b"skill://hub/../x").decode(), "c2tpbGw6Ly8="],
    ids=lambda cursor: cursor[:20],
)
def test_an_invalid_cursor_is_refused(hub_environment: Environment, write_skill: SkillWriter, cursor: str) -> None:
    write_skill("a")
    with publishing(hub_environment) as (publisher, _), pytest.raises(InvalidArgument, match="cursor is not"):
        publisher.page(cursor)


def test_a_cursor_reveals_no_hidden_skill(hub_environment: Environment, write_skill: SkillWriter) -> None:
    for name in ("a", "b-hidden", "c", "d-hidden", "e-hidden"):
        write_skill(name)
    with publishing({**hub_environment, "SKILLHUB_ENABLED_SKILLS": "a,c"}) as (publisher, _):
        first = publisher.page(limit=1)
        assert first.cursor is not None
        assert b"hidden" not in base64.urlsafe_b64decode(first.cursor)
        # An empty last page would reveal that hidden skills follow.
        assert walked(publisher, 1) == [["a"], ["c"]]


def test_hidden_shadowed_and_copied_skills_are_unlisted(hub_environment: Environment, write_skill: SkillWriter) -> None:
    write_skill("hidden", extra="disable-model-invocation: true")
    winner = write_skill("same", "Is the winner.", directory="x")
    loser = write_skill("same", "Is the loser.", directory="y")
    copy = write_skill("copied", directory="z")
    shutil.copytree(copy, copy.parent / "copy")
    for directory, mtime in ((winner, 2_000), (loser, 1_000)):
        os.utime(directory / "SKILL.md", (mtime, mtime))
    with publishing(hub_environment) as (publisher, _):
        assert listed(publisher) == ["skill://hub/copy/copied/SKILL.md", "skill://hub/x/same/SKILL.md"]
        assert [resource.uri for resource in publisher.resources()] == listed(publisher)
        for uri in ("skill://hub/hidden", "skill://hub/y/same", "skill://hub/z/copied"):
            assert publisher.skill(f"{uri}/SKILL.md").uri == f"{uri}/SKILL.md"
            assert publisher.content(f"{uri}/SKILL.md").content.startswith(b"---\n")
            assert publisher.children(uri)
        assert publisher.skill("skill://hub/y/same/SKILL.md").entry.frontmatter["description"] == "Is the loser."


def test_equal_names_in_two_sources_are_both_listed(hub_environment: Environment, write_skill: SkillWriter) -> None:
    at_home = Path(hub_environment["HOME"]) / ".agents" / "skills"
    write_skill("twin", "Is the hub's.")
    write_skill("twin", "Is the user's.", root=at_home)
    environment = {**hub_environment, "SKILLHUB_ROOTS": "user,hub"}
    with publishing(environment) as (publisher, _):
        assert listed(publisher) == ["skill://hub/twin/SKILL.md", "skill://user/twin/SKILL.md"]
        assert b"Is the user's." in publisher.content("skill://user/twin/SKILL.md").content
        assert b"Is the hub's." in publisher.content("skill://hub/twin/SKILL.md").content
    shutil.rmtree(at_home / "twin")
    with publishing(environment) as (publisher, _):
        assert listed(publisher) == ["skill://hub/twin/SKILL.md"]
        is_unknown(publisher, "skill://user/twin/SKILL.md")


# Reading


def test_every_listed_file_is_read_byte_for_byte(hub_environment: Environment, write_skill: SkillWriter) -> None:
    write_skill("demo", files=dict(FILES))
    with publishing(hub_environment) as (publisher, _):
        entry = publisher.skill("skill://hub/demo/SKILL.md")
        assert {file.path for file in entry.entry.files} == {"SKILL.md", *FILES}
        for file in entry.entry.files:
            read = publisher.content(entry.file_uri(file.path))
            assert read.content == FILES.get(file.path, read.content)
            digest = f"sha256:{hashlib.sha256(read.content).hexdigest()}"
            assert (file.size, file.digest) == (len(read.content), digest)
            assert (read.resource.uri, read.resource.size) == (entry.file_uri(file.path), file.size)


@pytest.mark.parametrize(
    ("path", "media_type", "is_text"),
    [
        ("crlf.txt", "text/plain", True),
        ("bom.md", "text/markdown", True),
        ("nul.txt", "text/plain", False),
        ("latin.txt", "text/plain", False),
        ("empty.txt", "text/plain", True),
        ("every byte.bin", "application/octet-stream", False),
        ("logo.svg", "image/svg+xml", False),
        ("script.py", "text/x-python", True),
        ("LICENSE", "text/plain", True),
        ("nested/SKILL.md", "text/markdown", True),
    ],
)
def test_a_file_is_sent_as_text_only_if_that_preserves_its_bytes(
    hub_environment: Environment, write_skill: SkillWriter, path: str, media_type: str, is_text: bool
) -> None:
    write_skill("demo", files={path: FILES[path]})
    with publishing(hub_environment) as (publisher, _):
        read = publisher.content(f"skill://hub/demo/{quote(path)}")
        assert (read.resource.media_type, read.is_text) == (media_type, is_text)
        # The listing of the directory describes it in the same way.
        children = publisher.children(f"skill://hub/demo/{quote(path)}".rpartition("/")[0])
        assert next(one for one in children if one.uri == read.resource.uri) == read.resource


def test_the_bytes_of_an_adapted_skill_match_its_entry(hub_environment: Environment, write_skill: SkillWriter) -> None:
    skill = write_skill("Wild Name!", directory="wild", files={"a.txt": "a"})
    on_disk = (skill / "SKILL.md").read_bytes()
    with publishing(hub_environment) as (publisher, _):
        (published,) = publisher.page().skills
        assert published.uri == "skill://hub/wild/wild-name/SKILL.md"
        read = publisher.content(published.uri)
        assert (read.resource.name, read.resource.media_type) == ("wild-name", "text/markdown")
        assert read.content.startswith(b'---\nname: "wild-name"\n')
        file = published.entry.file("SKILL.md")
        assert file is not None
        assert file.digest == f"sha256:{hashlib.sha256(read.content).hexdigest()}"
    assert (skill / "SKILL.md").read_bytes() == on_disk


def test_file_changes_are_seen_by_the_next_request(hub_environment: Environment, write_skill: SkillWriter) -> None:
    skill = write_skill("demo", files={"a.txt": "a", "docs/b.txt": "b"})
    with publishing(hub_environment) as (publisher, _):
        publisher.page()
        (skill / "docs" / "c.txt").write_bytes(b"c")
        # It can be read although no request has refreshed the entry.
        assert publisher.content("skill://hub/demo/docs/c.txt").content == b"c"
        (skill / "a.txt").unlink()
        is_unknown(publisher, "skill://hub/demo/a.txt")
        shutil.rmtree(skill / "docs")
        is_unknown(publisher, "skill://hub/demo/docs/b.txt")
        (published,) = publisher.page().skills
        assert [file.path for file in published.entry.files] == ["SKILL.md"]


def test_a_removed_or_broken_skill_is_unknown(hub_environment: Environment, write_skill: SkillWriter) -> None:
    gone, emptied, stays = (write_skill(name, files={"a.txt": "a"}) for name in ("gone", "emptied", "stays"))
    with publishing(hub_environment) as (publisher, _):
        assert len(publisher.page().skills) == 3
        shutil.rmtree(gone)
        (emptied / "SKILL.md").write_bytes(b"nothing")
        assert [skill.skill.directory for skill in publisher.page().skills] == [str(stays)]
        for name in ("gone", "emptied"):
            is_unknown(publisher, f"skill://hub/{name}/SKILL.md")


@pytest.mark.parametrize("hostile", [*REFUSED, *NEVER_DECODED, *LINKS_OUT], ids=lambda one: one.why)
@pytest.mark.skipif(os.name == "nt", reason="creating links needs a privilege there")
def test_no_spelling_of_a_path_leads_out_of_a_skill(
    hub_environment: Environment, tmp_path: Path, hostile: Hostile
) -> None:
    plant(tmp_path)
    path = hostile.path[:2_000]
    once = quote(path.encode("utf-8", "surrogatepass"))
    whole = quote(path.encode("utf-8", "surrogatepass"), safe="")
    spellings = (path, once, quote(once), whole, path.replace("/", "%2F"))
    with publishing({**hub_environment, "SKILLS_DIR": str(tmp_path / "skills")}) as (publisher, _):
        assert listed(publisher) == ["skill://hub/a/SKILL.md"]
        for spelling in (*spellings, path.replace("/", "\\"), path.replace("..", "%2e%2e")):
            for base in ("skill://hub/a/", "skill://hub/", "skill://"):
                uri = base + spelling
                for ask in (publisher.skill, publisher.content, publisher.children):
                    with pytest.raises(ResourceNotFound) as raised:
                        ask(uri)
                    assert SECRET not in str(raised.value)
                    assert str(tmp_path) not in str(raised.value)


@pytest.mark.skipif(os.name == "nt", reason="creating links needs a privilege there, and FIFOs do not exist")
def test_files_outside_a_skill_are_not_served(hub_environment: Environment, tmp_path: Path) -> None:
    skill = plant(tmp_path)
    os.mkfifo(skill / "fifo")
    for name in ("node_modules", "__pycache__"):
        (skill / name).mkdir()
        (skill / name / "x.js").write_text("x", encoding="utf-8")
    with publishing({**hub_environment, "SKILLS_DIR": str(tmp_path / "skills")}) as (publisher, _):
        for path in (".env", ".git/config", "fifo", "node_modules/x.js", "__pycache__/x.js", "absolute.md", "none"):
            is_unknown(publisher, f"skill://hub/a/{path}")
        uris = [child.uri for child in publisher.children("skill://hub/a")]
        assert uris == ["skill://hub/a/SKILL.md", "skill://hub/a/references"]
    environment = {**hub_environment, "SKILLS_DIR": str(tmp_path / "skills"), "SKILLHUB_SERVE_DOTFILES": "1"}
    with publishing(environment) as (publisher, _):
        assert publisher.content("skill://hub/a/.env").content == SECRET.encode()
        is_unknown(publisher, "skill://hub/a/absolute.md")


# Directories


def test_a_directory_lists_its_direct_children(hub_environment: Environment, write_skill: SkillWriter) -> None:
    write_skill("demo", "Does it.", files=dict(FILES))
    base = "skill://hub/demo"
    with publishing(hub_environment) as (publisher, _):
        children = {child.name: (child.uri, child.media_type) for child in publisher.children(base)}
        assert set(children) == {*(path for path in FILES if "/" not in path), "demo", "docs", "nested"}
        assert children["docs"] == (f"{base}/docs", "inode/directory")
        assert children["nested"] == (f"{base}/nested", "inode/directory")
        assert children["demo"] == (f"{base}/SKILL.md", "text/markdown")
        assert children["every byte.bin"] == (f"{base}/every%20byte.bin", "application/octet-stream")
        (skill_file,) = (child for child in publisher.children(base) if child.name == "demo")
        assert skill_file.description == "Does it."
        assert [child.uri for child in publisher.children(f"{base}/docs")] == [
            f"{base}/docs/100%25%20%231%3F.txt",
            f"{base}/docs/deep",
        ]
        (nested,) = publisher.children(f"{base}/nested")
        # A SKILL.md below a skill is an ordinary file.
        assert (nested.name, nested.description) == ("SKILL.md", None)
        for path, reason in (
            ("SKILL.md", "is not a directory"),
            ("docs/deep/none", "is not served"),
            ("docs/", "is not"),
        ):
            with pytest.raises(ResourceNotFound, match=reason):
                publisher.children(f"{base}/{path}")


# Permissions


@pytest.mark.parametrize(
    "setting", [{"SKILLHUB_ENABLED_SKILLS": "open"}, {"SKILLHUB_ENABLED_CATEGORIES": "shown"}], ids=str
)
def test_a_filtered_skill_is_unknown_to_every_request(
    hub_environment: Environment, write_skill: SkillWriter, setting: Environment
) -> None:
    write_skill("open", category="shown", files={"a.txt": "a"})
    write_skill("shut", category="hidden", files={"a.txt": "a"})
    with publishing({**hub_environment, **setting}) as (publisher, _):
        assert listed(publisher) == ["skill://hub/open/SKILL.md"]
        assert [one.name for one in publisher.resources()] == ["open"]
        for uri in ("skill://hub/shut/SKILL.md", "skill://hub/shut/a.txt", "skill://hub/shut"):
            is_unknown(publisher, uri)


def test_files_can_be_denied_alone(hub_environment: Environment, write_skill: SkillWriter) -> None:
    write_skill("demo", files={"a.txt": "a"})
    rules = permissions(hub_environment, allow=[{"tool": "skill_load"}], deny=[{"tool": "read_skill_file"}])
    with publishing(rules) as (publisher, _):
        assert publisher.content("skill://hub/demo/SKILL.md").is_text
        with pytest.raises(PermissionDenied):
            publisher.content("skill://hub/demo/a.txt")


def test_a_skill_can_be_read_after_consent(hub_environment: Environment, write_skill: SkillWriter) -> None:
    skill = write_skill("demo", files={"a.txt": "a"})
    with publishing(permissions(hub_environment)) as (publisher, _):
        assert listed(publisher) == ["skill://hub/demo/SKILL.md"]
        assert len(publisher.children("skill://hub/demo")) == 2
        asked = (("SKILL.md", "skill_load", Action.LOAD), ("a.txt", "read_skill_file", Action.READ))
        for path, tool, act in asked:
            uri = f"skill://hub/demo/{path}"
            with pytest.raises(ConfirmationRequired) as raised:
                publisher.content(uri)
            assert raised.value.tool == tool
            assert publisher.content(uri, granted={Grant(act, str(skill))}).content
        # Consent to the instructions covers the files that they refer to, but not the other way round.
        assert publisher.content("skill://hub/demo/a.txt", granted={Grant(Action.LOAD, str(skill))}).content == b"a"
        with pytest.raises(ConfirmationRequired):
            publisher.content("skill://hub/demo/SKILL.md", granted={Grant(Action.READ, str(skill))})
        # A missing file needs no consent.
        is_unknown(publisher, "skill://hub/demo/none.txt")


# Withheld and adapted skills


def test_a_skill_is_served_again_after_its_files_were_unavailable(
    hub_environment: Environment, write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("a", "Does it.")
    root, away = Path(hub_environment["SKILLS_DIR"]), tmp_path / "away"
    with publishing(hub_environment) as (publisher, _):
        assert listed(publisher)
        root.rename(away)
        publisher.page()
        with pytest.raises(ResourceNotFound, match="cannot be listed"):
            publisher.skill("skill://hub/a/SKILL.md")
        away.rename(root)
        assert publisher.skill("skill://hub/a/SKILL.md").entry.withheld is None


def test_adapted_skills_are_published_and_withheld_ones_refused_with_the_reason(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    write_skill("Wild Name", directory="a/wild", files={"a.txt": "a"})
    write_skill("日本語", directory="概要")
    write_skill("large", files={f"{number}.txt": "" for number in range(512)})
    with publishing(hub_environment) as (publisher, hub):
        (wild,) = publisher.page().skills
        assert (wild.uri, wild.entry.changes) == (
            "skill://hub/a/wild/wild-name/SKILL.md",
            ("name: 'wild-name' instead of 'Wild Name'",),
        )
        with pytest.raises(ResourceNotFound, match="it has more than 512 files"):
            publisher.skill("skill://hub/large/SKILL.md")
        is_unknown(publisher, "skill://hub/large/SKILL.md")
        bases = {skill.name: publisher.base_uri(skill) for skill in hub.skills()}
        assert (bases["Wild Name"], bases["日本語"]) == ("skill://hub/a/wild/wild-name", None)
        assert publisher.content(f"{bases['Wild Name']}/a.txt").content == b"a"
