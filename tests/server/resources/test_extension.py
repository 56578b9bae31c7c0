"""A host that reads skills natively lists them, verifies each file's digest, and gets error codes."""

from __future__ import annotations

import hashlib

import pytest
from tests.conftest import SkillWriter
from tests.publishing.publishers import FILES
from tests.server.connections import Caller, caller, listening, modes, two_ways, ways
from tests.server.skills_client import ask, bytes_of, pages, read, refused

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

Environment = dict[str, str]


@pytest.fixture
def environment(hub_environment: Environment, write_skill: SkillWriter) -> Environment:
    """Typical real skills."""
    write_skill("demo", "Does it well. ü", extra="license: MIT", files=dict(FILES))
    write_skill("Wild Name!", "Has a wild name.", directory="wild", files={"a.txt": "a"})
    folder = write_skill("windows", directory="team/windows")
    (folder / "SKILL.md").write_bytes(b"\xef\xbb\xbf---\r\nname: windows\r\ndescription: Has CRLF.\r\n---\r\nText.\r\n")
    write_skill("typed", frontmatter="name: typed\ndescription: d\nversion: 1.10\nflag: true\nnone:\nlist: [1, a]")
    write_skill("lasting", frontmatter="name: lasting\ndescription: |\n  Ends the frontmatter.")
    write_skill("hidden", extra="disable-model-invocation: true")
    return hub_environment


@two_ways
async def test_newer_clients_learn_that_skills_can_be_listed(way: tuple[str, str], hub: Caller) -> None:
    capabilities = hub.client.server_capabilities
    assert capabilities.resources is not None
    said = (capabilities.extensions or {}).get("io.modelcontextprotocol/skills")
    # The 2025-11-25 protocol has no field for it.
    assert said == ({"directoryRead": True} if way[1] == "auto" else None)


@modes
async def test_pages_contain_every_skill_once(
    hub_environment: Environment, write_skill: SkillWriter, mode: str
) -> None:
    # More than two pages of one list, and one page of the other.
    for number in range(253):
        write_skill(f"s-{number:03}")
    with listening(hub_environment) as url:
        async with caller(url, mode) as hub:
            skills = await pages(hub, "skills/list", "skills")
            assert [len(page) for page in skills] == [100, 100, 53]
            names = [skill["frontmatter"]["name"] for page in skills for skill in page]
            assert names == [f"s-{number:03}" for number in range(253)]
            resources = await pages(hub, "resources/list", "resources")
            assert [len(page) for page in resources] == [250, 3]
            assert [one["name"] for page in resources for one in page] == names


@ways
async def test_an_entry_has_the_frontmatter_and_every_file(hub: Caller) -> None:
    answers = [
        await ask(hub, "skills/list"),
        await ask(hub, "skills/get", uri="skill://hub/demo/SKILL.md"),
        await ask(hub, "resources/directory/read", uri="skill://hub/demo"),
    ]
    for answer in answers:
        assert answer["resultType"] == "complete"
        # The content depends on the caller.
        assert (answer["ttlMs"], answer["cacheScope"]) == (300_000, "private")
    assert "nextCursor" not in answers[0]
    base = "skill://hub/demo"
    children = {child["uri"]: child for child in answers[2]["resources"]}
    assert children[f"{base}/docs"] == {"uri": f"{base}/docs", "name": "docs", "mimeType": "inode/directory"}
    skill_file = children[f"{base}/SKILL.md"]
    assert (skill_file["name"], skill_file["mimeType"]) == ("demo", "text/markdown")
    assert skill_file["description"] == "Does it well. ü"
    assert skill_file["size"] == len(bytes_of(await read(hub, f"{base}/SKILL.md")))
    skills = {skill["uri"]: skill for skill in answers[0]["skills"]}
    assert list(skills) == [
        "skill://hub/demo/SKILL.md",
        "skill://hub/lasting/SKILL.md",
        "skill://hub/team/windows/SKILL.md",
        "skill://hub/typed/SKILL.md",
        "skill://hub/wild/wild-name/SKILL.md",
    ]
    for uri, skill in skills.items():
        assert (await ask(hub, "skills/get", uri=uri))["skill"] == skill
        files = [file["uri"] for file in skill["resources"]]
        assert uri in files
        assert len(files) == len(set(files))
        for file in skill["resources"]:
            content = bytes_of(await read(hub, file["uri"]))
            assert file == {
                "uri": file["uri"],
                "digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
                "size": len(content),
            }
    assert len(skills["skill://hub/demo/SKILL.md"]["resources"]) == len(FILES) + 1
    assert skills["skill://hub/typed/SKILL.md"]["frontmatter"] == {
        "name": "typed",
        "description": "d",
        "version": 1.1,
        "flag": True,
        "none": None,
        "list": [1, "a"],
    }
    adapted = {uri: skill["_meta"]["io.skillhub/adapted"] for uri, skill in skills.items() if "_meta" in skill}
    assert adapted == {
        "skill://hub/lasting/SKILL.md": ["description: rewritten so that all YAML parsers agree"],
        "skill://hub/wild/wild-name/SKILL.md": ["name: 'wild-name' instead of 'Wild Name!'"],
    }
    # Not listed, and served to a client that knows its URI.
    hidden = await ask(hub, "skills/get", uri="skill://hub/hidden/SKILL.md")
    assert hidden["skill"]["frontmatter"]["name"] == "hidden"


@two_ways
async def test_missing_and_invalid_uris_are_refused_with_error_codes(hub: Caller) -> None:
    unknown = [
        "skill://hub/none/SKILL.md",
        "skill://hub/demo/none.txt",
        "skill://hub/demo/../wild/SKILL.md",
        "skill://hub/%00",
        "skill://",
        "file:///etc/passwd",
        "",
    ]

    for uri in unknown:
        for method in ("skills/get", "resources/directory/read", "resources/read"):
            refusal = await refused(hub, method, uri=uri)
            assert (refusal.number, refusal.data["uri"]) == (-32602, uri), method
    for method, uri in (
        ("skills/get", "skill://hub/demo"),
        ("skills/get", "skill://hub/demo/crlf.txt"),
        ("resources/directory/read", "skill://hub/demo/SKILL.md"),
        ("resources/read", "skill://hub/demo"),
    ):
        refusal = await refused(hub, method, uri=uri)
        assert (refusal.number, refusal.code, refusal.data["uri"]) == (-32602, "RESOURCE_NOT_FOUND", uri)
        assert uri in refusal.text
    for cursor in ("zzz", "", "c2tpbGw6Ly8="):
        assert (await refused(hub, "skills/list", cursor=cursor)).number == -32602
        where = {"uri": "skill://hub/demo", "cursor": cursor}
        assert (await refused(hub, "resources/directory/read", **where)).number == -32602
    for params in ({}, {"uri": 5}):
        assert (await refused(hub, "skills/get", **params)).number == -32602
