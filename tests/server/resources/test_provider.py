"""Skills' files as plain resources: the same URIs and bytes in both protocol versions."""

from __future__ import annotations

from urllib.parse import quote

import mcp_types
import pytest
from mcp.shared.exceptions import MCPError
from tests.conftest import SkillWriter
from tests.publishing.publishers import FILES
from tests.server.connections import Caller, two_ways
from tests.server.skills_client import ask, bytes_of, listed, read

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

Environment = dict[str, str]


@pytest.fixture
def environment(hub_environment: Environment, write_skill: SkillWriter) -> Environment:
    write_skill("demo", "Does it well.", files=dict(FILES))
    write_skill("Wild Name!", "Has a wild name.", directory="wild")
    write_skill("hidden", extra="disable-model-invocation: true")
    return hub_environment


@two_ways
async def test_skill_files_are_listed_and_readable_as_resources(hub: Caller) -> None:
    result = await ask(hub, "resources/list")
    assert result["resources"] == [
        {
            "uri": "skill://hub/demo/SKILL.md",
            "name": "demo",
            "description": "Does it well.",
            "mimeType": "text/markdown",
        },
        {
            "uri": "skill://hub/wild/wild-name/SKILL.md",
            "name": "wild-name",
            "description": "Has a wild name.",
            "mimeType": "text/markdown",
        },
    ]
    assert [one["uri"] for one in result["resources"]] == await listed(hub)
    templates = (await ask(hub, "resources/templates/list"))["resourceTemplates"]
    assert [one["uriTemplate"] for one in templates] == ["skill://{+path}"]
    # A media type would apply to every file.
    assert not {"_meta", "mimeType"} & templates[0].keys()
    for path, held in FILES.items():
        content = await read(hub, f"skill://hub/demo/{quote(path)}")
        assert bytes_of(content) == held, path
        assert isinstance(content, mcp_types.TextResourceContents) == (
            path not in ("nul.txt", "latin.txt", "every byte.bin", "logo.svg")
        )
        assert content.uri == f"skill://hub/demo/{quote(path)}"
    skill_file = await read(hub, "skill://hub/wild/wild-name/SKILL.md")
    assert skill_file.mime_type == "text/markdown"
    assert bytes_of(skill_file).startswith(b'---\nname: "wild-name"\n')
    assert bytes_of(await read(hub, "skill://hub/hidden/SKILL.md"))
    message = r"'skill://hub/demo' is a directory\. List it with resources/directory/read\.$"
    with pytest.raises(MCPError, match=message):
        await hub.client.read_resource("skill://hub/demo")
