"""No text of a skill passes for anything else over MCP: every payload, on every surface, over both transports."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import mcp_types
import pytest
from mcp.shared.exceptions import MCPError
from tests.hubs import hub_of, settings_from
from tests.server.connections import TWO_WAYS, Caller, reached
from tests.server.skills_client import ask
from tests.surfaces.findings import forged_lines, hidden, tags_named, values, wrong_in_a_value
from tests.surfaces.library import PAYLOADS, Payload, folders_with_rules

from skillhub_mcp.bootstrap.server import server_options
from skillhub_mcp.policy.tool_actions import TOOL_ACTIONS
from skillhub_mcp.publishing.uris import SCHEME
from skillhub_mcp.server.app import make_server
from skillhub_mcp.skills.names import safe_alias

pytestmark = pytest.mark.slow

# These keys have what is in a file, as it is; a comparison with the file is below.
OF_THE_FILE = frozenset({"instructions", "content"})
# The agent-context tools take no description that is longer than the specification's.
MOST_IN_THE_CATALOGUE = 900
# A host's own copy of what it reported the hub, and of what the hub reported it to tell again: paths, unchanged.
STATE = frozenset({"state"})


@dataclass(frozen=True, slots=True)
class Shown:
    """What a surface showed: values of one line each, JSON with such values, or a text with the hub's own tags.

    `lines` are a value of frontmatter, which keeps its lines: a host reads it as the file's.

    `tags` are how many there are of each name: no text of a skill adds one, and none closes what stands around it.
    """

    values: object = ()
    json: str | None = None
    text: str = ""
    tags: Mapping[str, int] | None = None
    lines: str = ""


Surface = Callable[[Caller, Payload], Awaitable[Sequence[Shown]]]


async def tool(hub: Caller, name: str, /, **arguments: Any) -> tuple[str, object]:
    """Call a tool and return its text, and all else that it answers."""
    result = await hub.client.call_tool(name, arguments)
    assert isinstance(result, mcp_types.CallToolResult)
    text, *notes = (getattr(block, "text", "") for block in result.content)
    return text, [notes, result.structured_content, result.meta]


def in_json(name: str, **arguments: Any) -> Surface:
    """A tool that answers in JSON, whatever the payload."""

    async def show(hub: Caller, _: Payload) -> Sequence[Shown]:
        text, more = await tool(hub, name, **arguments)
        return [Shown(more, json=text)]

    return show


async def name_of(hub: Caller, payload: Payload) -> str:
    """The name that a model gets of the payload's skill."""
    return next(name for name, description in (await listed(hub)).items() if payload.word in description)


async def listed(hub: Caller) -> dict[str, str]:
    """The descriptions of all skills by name, as a search without words lists them."""
    if hub not in _LISTED:
        text, _ = await tool(hub, "search_skills", query="", limit=100)
        _LISTED[hub] = {one["name"]: one["description"] for one in json.loads(text)["skills"]}
    return _LISTED[hub]


_LISTED: WeakKeyDictionary[Caller, dict[str, str]] = WeakKeyDictionary()


async def search(hub: Caller, payload: Payload) -> Sequence[Shown]:
    assert len(await listed(hub)) == len(PAYLOADS)
    every, structured = await tool(hub, "search_skills", query="", limit=100)
    text, more = await tool(hub, "search_skills", query=payload.word, explain=True)
    filtered, _ = await tool(hub, "search_skills", query="x", category="none", tags=["none"])
    return [Shown(structured, json=every), Shown(more, json=text), Shown(json=filtered)]


async def load(hub: Caller, payload: Payload) -> Sequence[Shown]:
    text, more = await tool(hub, "load_skill", skill_name=await name_of(hub, payload))
    assert payload.in_a_body in json.loads(text)["instructions"]
    return [Shown(more, json=text)]


async def read(hub: Caller, payload: Payload) -> Sequence[Shown]:
    # The error names the files that are there.
    name = await name_of(hub, payload)
    return [Shown(await tool(hub, "read_skill_file", skill_name=name, file_path="references/none"))]


async def run(hub: Caller, payload: Payload) -> Sequence[Shown]:
    refused = await tool(hub, "run_skill_command", skill_name=await name_of(hub, payload), command="none")
    # The error names skills like it, and a folder whose skill is refused.
    unknown = await tool(hub, "run_skill_command", skill_name=f"refused {payload.in_a_body}"[:256], command="none")
    return [Shown([refused, unknown])]


async def skill(hub: Caller, payload: Payload) -> Sequence[Shown]:
    text, more = await tool(hub, "Skill", skill=await name_of(hub, payload))
    return [Shown(more, text=text, tags={"skill-loaded": 2, "system-reminder": 0, "skill_context": 0})]


async def available(hub: Caller, _: Payload) -> Sequence[Shown]:
    text, _more = await tool(hub, "available_skills", mode="lenient")
    assert text.count("\n- name=") == sum(line.startswith("- name=") for line in text.splitlines())
    return [Shown(text.splitlines())]


async def context_load(hub: Caller, payload: Payload) -> Sequence[Shown]:
    text, more = await tool(hub, "skill_load", name=f"project-{payload.word}", force=True)
    if len(payload.text) > MOST_IN_THE_CATALOGUE:
        return [Shown([text, more])]
    again, _ = await tool(hub, "skill_load", name=f"project-{payload.word}") if payload in PAYLOADS[::9] else ("", None)
    files = text.count("\n<skill_files>\n") * 2
    tags = {"skill_context": 2, "skill_files": files, "system-reminder": 0, "agents_context": 0}
    return [Shown(more, text=text, tags=tags), Shown([line for line in again.splitlines() if "<skill_con" not in line])]


async def context_search(hub: Caller, payload: Payload) -> Sequence[Shown]:
    text, more = await tool(hub, "skill_search", query=payload.word)
    assert json.loads(text)["skills"] or len(payload.text) > MOST_IN_THE_CATALOGUE, payload.id
    return [Shown(more, json=text)]


async def agents(hub: Caller, _: Payload) -> Sequence[Shown]:
    text, more = await tool(hub, "agents_context")
    resumed, _more = await tool(hub, "agents_resume_diff")
    return [
        Shown(more, text=text, tags={"agents_context": 2, "skill-loaded": 0, "system-reminder": 0}),
        Shown(text=resumed),
    ]


def in_folders(name: str, file: str) -> Surface:
    """A tool that answers for a file of each folder that has rules."""

    async def show(hub: Caller, _: Payload) -> Sequence[Shown]:
        await tool(hub, "agents_context")
        answers = [await tool(hub, name, path=f"{folder}/{file}") for folder in folders_with_rules()]
        return [Shown(more, text=text) for text, more in answers]

    return show


async def resources(hub: Caller, _: Payload) -> Sequence[Shown]:
    return [Shown([one.model_dump(mode="json") for one in (await hub.client.list_resources()).resources])]


async def templates(hub: Caller, _: Payload) -> Sequence[Shown]:
    reported = (await hub.client.list_resource_templates()).model_dump_json()
    assert not [payload.id for payload in PAYLOADS if payload.word in reported]
    return []


async def resource(hub: Caller, payload: Payload) -> Sequence[Shown]:
    return [Shown(await refusal(hub.client.read_resource(f"{SCHEME}hub/{payload.word}")))]


async def refusal(call: Awaitable[object]) -> object:
    """What a request that is refused is reported."""
    try:
        await call
    except MCPError as error:
        return [error.error.message, error.error.data]
    raise AssertionError


async def skills(hub: Caller, _: Payload) -> Sequence[Shown]:
    reported: list[Shown] = []
    more: dict[str, str] = {}
    while True:
        page = await ask(hub, "skills/list", **more)
        reported += [Shown(lines=text) for text in values(page["skills"])]
        if page.get("nextCursor") is None:
            return reported
        more = {"cursor": page["nextCursor"]}


async def one_skill(hub: Caller, _: Payload) -> Sequence[Shown]:
    first = (await ask(hub, "skills/list"))["skills"][0]
    return [Shown(lines=text) for text in values(await ask(hub, "skills/get", uri=first["uri"]))]


async def directory(hub: Caller, _: Payload) -> Sequence[Shown]:
    first = (await ask(hub, "skills/list"))["skills"][0]["uri"].removesuffix("/SKILL.md")
    inside = await ask(hub, "resources/directory/read", uri=first)
    below = await ask(hub, "resources/directory/read", uri=f"{first}/references")
    return [Shown([inside, below])]


async def prompts(hub: Caller, _: Payload) -> Sequence[Shown]:
    listed = (await hub.client.list_prompts()).prompts
    assert {one.name for one in listed if not one.name.startswith("zq")} == PROMPTS
    return [Shown([one.model_dump(mode="json") for one in listed])]


async def prompt(hub: Caller, payload: Payload) -> Sequence[Shown]:
    first = safe_alias(await name_of(hub, payload))
    tags = {"skill-loaded": 2, "system-reminder": 0, "agents_context": 0}
    shown = [Shown(text=await hub.prompt("skill", name=first, arguments="now"), tags=tags)]
    if payload == PAYLOADS[0]:
        own = {"agents_context": 2, "skills_context": 2, "skill-loaded": 0, "system-reminder": 0}
        shown.append(Shown(text=await hub.prompt(first, arguments=""), tags=tags))
        shown.append(Shown(text=await hub.prompt("session_context"), tags=own))
    return shown


async def completion(hub: Caller, payload: Payload) -> Sequence[Shown]:
    by_name = mcp_types.PromptReference(name="skill")
    named = await hub.client.complete(by_name, {"name": "name", "value": payload.word})
    assert named.completion.values
    return [Shown([named.completion.values])]


async def instructions(hub: Caller, _: Payload) -> Sequence[Shown]:
    text = hub.client.instructions or ""
    assert "zq" in text
    return [Shown(text=text, tags={"skills_context": 2, "skill-loaded": 0}), Shown(text=text)]


async def tools(hub: Caller, _: Payload) -> Sequence[Shown]:
    text = json.dumps([one.model_dump(mode="json") for one in (await hub.client.list_tools()).tools])
    assert not [payload.id for payload in PAYLOADS if payload.word in text]
    return []


TOOLS: Mapping[str, Surface] = {
    "search_skills": search,
    "load_skill": load,
    "read_skill_file": read,
    "run_skill_command": run,
    "Skill": skill,
    "build_index": in_json("build_index", mode="lenient"),
    "refresh_index": in_json("refresh_index", mode="lenient"),
    "available_skills": available,
    "skills_list": in_json("skills_list"),
    "skill_search": context_search,
    "skill_load": context_load,
    "context_inspect": in_json("context_inspect"),
    "agents_context": agents,
    "agents_resume_diff": agents,
    "agents_resolve": in_folders("agents_resolve", "x"),
    "agents_read": in_folders("agents_read", "AGENTS.md"),
}
METHODS: Mapping[str, Surface] = {
    "server/discover": instructions,
    "tools/list": tools,
    "resources/list": resources,
    "resources/templates/list": templates,
    "resources/read": resource,
    "resources/directory/read": directory,
    "prompts/list": prompts,
    "prompts/get": prompt,
    "completion/complete": completion,
    "skills/list": skills,
    "skills/get": one_skill,
}
# They answer with nothing that a skill says: with the tools above, with nothing, or with what the client named.
METHODS_WITHOUT_TEXT = {"ping", "tools/call", "logging/setLevel"}
PROMPTS = {"skill", "session_context"}
WRAPPERS = ("skill-loaded", "skill_context", "skills_context", "agents_context", "system-reminder")
# Only their answers differ with the payload; what the second four show is shown for every payload by another: files and
# bodies by `Skill`, fields by `skills_list`.
OF_EACH = frozenset(("load_skill", "Skill", "skill_load"))
SELDOM = frozenset(("read_skill_file", "run_skill_command", "skill_search", "prompts/get"))


def test_every_tool_and_method_of_the_server_is_in_the_table(hostile: dict[str, str]) -> None:
    settings = settings_from(hostile)
    with hub_of(hostile) as hub:
        servers = [make_server(hub, server_options(settings, hub, over_http=http)) for http in (False, True)]
        listed = set().union(*(asyncio.run(_names_of_tools(server)) for server in servers))
        methods = set().union(*(server._mcp_server._request_handlers for server in servers))
    assert listed == set(TOOL_ACTIONS) == set(TOOLS)
    # A middleware answers the methods about subscriptions, and without any text.
    assert methods == set(METHODS) | METHODS_WITHOUT_TEXT


async def _names_of_tools(server: Any) -> set[str]:
    return {one.name for one in await server.list_tools(run_middleware=False)}


@pytest.mark.parametrize("way", TWO_WAYS, ids="-".join)
def test_no_text_of_a_skill_passes_for_anything_else(
    way: tuple[str, str], hostile: dict[str, str], tmp_path: Path
) -> None:
    # One way is asked for every payload; the other carries the same answers, and is asked for every twelfth.
    own = PAYLOADS if way == TWO_WAYS[0] else PAYLOADS[1::12]
    # It logs every refusal with a traceback; the program switches that off too.
    logging.getLogger("fastmcp.server.server").setLevel(logging.CRITICAL)
    logs = [tmp_path / "audit.jsonl", tmp_path / "usage.jsonl"]
    logged = {"SKILLHUB_AUDIT_LOG": str(logs[0]), "SKILLHUB_USAGE_LOG": str(logs[1])}
    wrong = asyncio.run(_walk(way, {**hostile, **logged}, own))
    assert wrong == []
    for log in logs:
        lines = log.read_text(encoding="ascii").splitlines()
        assert len(lines) >= len(own)
        assert all(isinstance(json.loads(line), dict) for line in lines)


async def _walk(way: tuple[str, str], environment: Mapping[str, str], payloads: Sequence[Payload]) -> list[str]:
    wrong: list[str] = []
    async with reached(way, environment) as hub:
        offered = {one.name for one in (await hub.client.list_tools()).tools}
        shows = {**{name: show for name, show in TOOLS.items() if name in offered}, **METHODS}
        for name, show in shows.items():
            for payload in payloads if name in OF_EACH else payloads[::5] if name in SELDOM else payloads[:1]:
                wrong += [f"{name}, {payload.id}: {one}" for shown in await show(hub, payload) for one in _wrong(shown)]
    return wrong


def _wrong(shown: Shown) -> list[str]:
    found = [f"{one} in {text[:200]!r}" for text in values(shown.values, but=STATE) for one in wrong_in_a_value(text)]
    if shown.json is not None:
        found += [f"{one} in JSON" for one in hidden(shown.json)]
        reported = json.loads(shown.json) if shown.json.startswith(("{", "[")) else shown.json
        texts = values(reported, but=OF_THE_FILE | STATE)
        found += [f"{one} in {text[:200]!r}" for text in texts for one in wrong_in_a_value(text)]
    found += [f"{one} in {shown.lines[:200]!r}" for one in hidden(shown.lines, lines=True)]
    found += [f"a tag in {shown.lines[:200]!r}" for tag in WRAPPERS if tags_named(shown.lines, tag)]
    found += [f"the line {line[:80]!r}" for line in forged_lines(shown.text)]
    for name, count in (shown.tags or {}).items():
        if tags_named(shown.text, name) != count:
            found.append(f"{tags_named(shown.text, name)} tags {name}, not {count}")
    return found


def test_the_files_of_a_skill_are_served_as_they_are(hostile: dict[str, str]) -> None:
    places = {payload.word: Path(hostile["SKILLS_DIR"]).glob(f"served {payload.word} *") for payload in PAYLOADS}

    async def go() -> None:
        async with reached(TWO_WAYS[0], hostile) as hub:
            for payload in PAYLOADS[::9]:
                name = await name_of(hub, payload)
                text, _ = await tool(hub, "read_skill_file", skill_name=name, file_path="SKILL.md")
                (place,) = places[payload.word]
                assert json.loads(text)["content"].encode() == (place / "SKILL.md").read_bytes(), payload.word

    asyncio.run(go())
