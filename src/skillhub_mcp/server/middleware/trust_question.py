"""The question whether to trust a project, asked when an agent is about to load a skill that awaits that.

It is asked over stdio only, where the client's user is the person whose record it is, and once in a session for what
the project brings as it is. What is recorded is the digest of what the question was about.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types
from fastmcp.server.context import Context
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import InputRequiredToolResult
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from skillhub_mcp.disclosure.project_skills import ProjectSkills
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.sanitize import path_for_model, shortened
from skillhub_mcp.server.middleware.consent import can_ask, elicit, form, question, why_not_asked
from skillhub_mcp.server.middleware.sessions import is_stateless
from skillhub_mcp.skills.name_resolution import Names

log = logging.getLogger(__name__)

_QUESTION = "skillhub-trust"
_TRUST, _LATER = "trust", "not now"
# What the tools that load a skill call the argument that names it.
_ARGUMENTS = ("skill_name", "skill", "name", "path")
_SHOWN_NAMES, _SHOWN_LENGTH = 8, 64


@dataclass(frozen=True, slots=True)
class TrustAsking:
    """What the project of a root `brings` now, and recording that its person agrees.

    Both read files. They raise InvalidSetting, TrustUnreadable and PolicyUnwritable, and OSError.
    """

    brings: Callable[[str], ProjectSkills]
    agree: Callable[[ProjectSkills], None]


class TrustQuestionMiddleware(Middleware):
    """Asks the client's user whether they trust the project, for a server over stdio, which has one session."""

    def __init__(self, hub: SkillHub, asking: TrustAsking) -> None:
        self._hub = hub
        self._asking = asking
        # By the state of the question, and by what the skills were that it was about.
        self._asked: dict[str, ProjectSkills] = {}
        self._asked_about: set[frozenset[tuple[str, str]]] = set()

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, Any],
    ) -> Any:
        client = context.fastmcp_context
        loads = self._hub.access.tools.action(context.message.name) is Action.LOAD
        if client is not None and loads and can_ask(client):
            question = await self._answered_or_asked(client, context.message)
            if question is not None:
                return InputRequiredToolResult(question)
        return await call_next(context)

    async def _answered_or_asked(
        self, client: Context, call: mcp_types.CallToolRequestParams
    ) -> mcp_types.InputRequiredResult | None:
        """Ask if there is something to ask, and record the answer; return a question that is the answer to the call."""
        try:
            before = self._asked.get(client.request_state or "") if is_stateless(client) else None
            if before is not None:
                await self._apply((client.input_responses or {}).get(_QUESTION), before)
                return None
            brought = await asyncio.to_thread(self._to_ask_about, call.arguments or {})
            if brought is None:
                return None
            if is_stateless(client):
                return question(_QUESTION, _form(brought), _state(brought))
            reply = await elicit(client, _form(brought))
            await self._apply(reply, brought)
        except (SkillHubError, MCPError, ValidationError, OSError) as error:
            # The call itself does not depend on the answer.
            log.warning("Whether the project is trusted could not be asked or recorded: %s", why_not_asked(error))
        return None

    def _to_ask_about(self, arguments: Mapping[str, Any]) -> ProjectSkills | None:
        """Return what the project brings, if a skill of it that awaits trust would be loaded, once."""
        snapshot = self._hub.views.snapshot()
        policy = self._hub.access.now()
        names = Names(snapshot, policy)
        named = (value for key in _ARGUMENTS if isinstance(value := arguments.get(key), str) and value)
        found = [skill for skill in (names.find(name.strip()) for name in named) if skill is not None]
        loaded = next((skill for skill in found if skill.awaits_trust and policy.offers(skill)), None)
        if loaded is None:
            return None
        awaiting = (skill for skill in snapshot.everything if skill.awaits_trust)
        about = frozenset((skill.directory, skill.stamp.content_hash) for skill in awaiting)
        if about in self._asked_about:
            return None
        self._asked_about.add(about)
        brought = self._asking.brings(snapshot.within(loaded))
        if not (brought.trust.is_awaited and brought.digests) or _state(brought) in self._asked:
            return None
        self._asked[_state(brought)] = brought
        return brought

    async def _apply(self, reply: Any, brought: ProjectSkills) -> None:
        accepted = isinstance(reply, mcp_types.ElicitResult) and reply.action == "accept"
        if accepted and (reply.content or {}).get("answer") == _TRUST:
            await asyncio.to_thread(self._asking.agree, brought)
            # The call that asked is the first that the agreement is for.
            await asyncio.to_thread(self._hub.views.snapshot, fresh=True)


def _message(brought: ProjectSkills) -> str:
    """Return the question: what the project brings, by names, and what trusting it changes."""
    skills = [one for place in brought.places for one in place.skills]
    taken = sorted({other.name for one in skills for other in one.takes_from})
    pinned = [one.skill.name for one in skills if one.skill.always_apply]
    what = f"The project {path_for_model(brought.project)!r} brings skills that you have not agreed to as they are now"
    parts = [
        f"{what}: {_listed([one.skill.name for one in skills])}.",
        f"Once you trust it, it takes these names from your own skills: {_listed(taken)}." if taken else "",
        f"Each agent that connects then reads these: {_listed(pinned)}." if pinned else "",
        "Without that they are found and loaded too. `skillhub trust` shows them. Do you trust the project?",
    ]
    return " ".join(part for part in parts if part)


def _listed(names: list[str]) -> str:
    more = len(names) - _SHOWN_NAMES
    shown = ", ".join(repr(shortened(path_for_model(name), _SHOWN_LENGTH)) for name in names[:_SHOWN_NAMES])
    return shown + (f" and {more:,} more" if more > 0 else "")


def _form(brought: ProjectSkills) -> mcp_types.ElicitRequestFormParams:
    return form(_message(brought), title="Trust it?", answers=[_TRUST, _LATER])


def _state(brought: ProjectSkills) -> str:
    return json.dumps([brought.project, *sorted(brought.digests.items())])
