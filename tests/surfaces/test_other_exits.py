"""What else tells of skills: the card, the question to a person, Python programs, a provider's model, and the logs."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import mcp_types
import pytest
from tests.conftest import own_rules
from tests.hubs import hub_of
from tests.server.connections import WAYS, reached
from tests.surfaces.findings import forged_lines, hidden, tags_named, values, wrong_in_a_value
from tests.surfaces.library import PAYLOADS

from skillhub_mcp.api import available_skills, build_index
from skillhub_mcp.cli.log_format import log_to_stderr
from skillhub_mcp.disclosure.card import CardContext, render_card
from skillhub_mcp.search.rerankers.model import ModelReranker
from skillhub_mcp.skills.loader import SkillLoader

pytestmark = pytest.mark.slow

_FEW = PAYLOADS[::8]


@pytest.mark.parametrize("names_only", [False, True])
def test_the_instructions_have_only_lines_of_the_hub(hostile: dict[str, str], names_only: bool) -> None:
    with hub_of(hostile) as hub:
        skills = [*hub.views.snapshot().skills]
    for room in (2_000, 200_000):
        card = render_card(skills, CardContext(names_only=names_only), max_bytes=room)
        assert [one for line in card.splitlines() for one in wrong_in_a_value(line)] == []
        assert forged_lines(card) == []
        assert tags_named(card, "system-reminder") == 0


def test_every_skill_is_found_by_visible_words(hostile: dict[str, str]) -> None:
    with hub_of(hostile) as hub:
        for payload in PAYLOADS:
            first = hub.search(payload.word).hits[0]
            assert payload.word in first.skill.description, payload.id
            assert hub.load(first.handle).skill == first.skill, payload.id


def test_python_prompts_have_only_lines_of_the_hub(hostile: dict[str, str]) -> None:
    loader = SkillLoader(hostile["SKILLS_DIR"])
    lines = loader.get_descriptions().splitlines()
    assert len(lines) == len(PAYLOADS)
    headings = [loader.get_skill_content(name).partition("\n")[0] for name in loader.skills]
    index = build_index([hostile["SKILLS_DIR"]], lenient=True)
    listed = available_skills(index).splitlines()
    assert len(listed) > len(PAYLOADS)
    assert [one for line in (*lines, *headings, *listed) for one in wrong_in_a_value(line)] == []


def test_a_reranking_model_sees_values() -> None:
    asked: list[str] = []

    def answer(instruction: str, text: str, *, timeout: float) -> str:
        asked.append(text)
        return '{"fitting": []}'

    names = [f"{one.word} {one.text}" for one in PAYLOADS]
    descriptions = [f"Does {one.text}" for one in PAYLOADS]
    ModelReranker("a model", answer).rerank("a task", list(zip(names, descriptions, strict=True)))
    (reported,) = map(json.loads, asked)
    assert len(reported["skills"]) == len(PAYLOADS)
    assert [one for text in values(reported) for one in wrong_in_a_value(text)] == []


def test_a_consent_question_has_only_lines_of_the_hub(hostile: dict[str, str]) -> None:
    own_rules(confirm=[{"tool": "skill_load"}])
    questions: list[str] = []

    async def person(_: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        questions.append(params.message)
        return mcp_types.ElicitResult(action="decline")

    async def go() -> None:
        async with reached(WAYS[0], hostile, elicitation_callback=person) as hub:
            every = await hub.call("search_skills", query="", limit=100)
            for one in every.json["skills"][::8]:
                await hub.call("load_skill", skill_name=one["name"])

    asyncio.run(go())
    assert len(questions) == len(_FEW)
    assert [one for question in questions for one in wrong_in_a_value(question)] == []


def test_a_log_line_is_one_line_with_escapes(
    hostile: dict[str, str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = logging.getLogger()
    # As the program finds it: without the handlers of the tests.
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", root.level)
    log_to_stderr("INFO")
    with hub_of(hostile) as hub:
        for payload in _FEW:
            hub.load(hub.search(payload.word).hits[0].handle)
            logging.getLogger("skillhub_mcp").warning("%s is %s", payload.text, payload.why, extra={"of": payload.text})
    said = capfd.readouterr().err
    assert said
    assert hidden(said, lines=True) == forged_lines(said) == []
