"""Consent: asks the client's user for what the rules neither allow nor deny.

In the 2025-11-25 protocol the server asks while the call waits. In the 2026-07-28 protocol the answer to the call is a
question, and the client calls again with the reply. A client that cannot ask gets CONFIRMATION_REQUIRED.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mcp_types
from fastmcp.exceptions import FastMCPError
from fastmcp.prompts.base import InputRequiredPromptResult
from fastmcp.resources.base import InputRequiredResourceResult
from fastmcp.server.context import Context
from fastmcp.server.middleware import Middleware
from fastmcp.tools.base import InputRequiredToolResult, Tool
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from skillhub_mcp.disclosure.project_skills import ProjectSkills
from skillhub_mcp.errors import ConfirmationRequired, PermissionDenied, PolicyUnwritable, SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.policy.access import Access, Grant
from skillhub_mcp.policy.tool_actions import TOOL_ACTIONS, Action, skills_named_in
from skillhub_mcp.sanitize import for_model, in_line, path_for_model, shortened
from skillhub_mcp.server.error_responses import known_cause
from skillhub_mcp.server.middleware.sessions import Sessions, is_stateless
from skillhub_mcp.server.middleware_types import AnyRequest, CallTool, GetPrompt, ListTools, Next, ReadResource
from skillhub_mcp.server.options import TrustAsking
from skillhub_mcp.skills.name_resolution import Names

log = logging.getLogger(__name__)

_QUESTION = "skillhub-permission"
_ONCE, _ALWAYS, _NO = "once", "always", "no"
_SHOWN_DESCRIPTION = 500
_ACTIONS = {
    Action.LOAD: "load the skill",
    Action.READ: "read files of the skill",
    Action.RUN: "run commands of the skill",
}


class ConsentMiddleware(Middleware):
    """Stops calls that a rule denies, and asks about those that need a person's agreement.

    `remember` saves a rule. Without it an answer holds for the session: over HTTP the answer is one client's, and the
    rules apply to all clients.
    """

    def __init__(
        self, access: Access, sessions: Sessions, *, remember: Callable[[Action, ConfirmationRequired], None] | None
    ) -> None:
        self._access = access
        self._sessions = sessions
        self._remember = remember

    async def on_list_tools(self, context: ListTools, call_next: Next) -> Sequence[Tool]:
        tools: Sequence[Tool] = await call_next(context)
        if self._access.may_run():
            return tools
        return [tool for tool in tools if TOOL_ACTIONS.get(tool.name) is not Action.RUN]

    async def on_call_tool(self, context: CallTool, call_next: Next) -> Any:
        return await self._with_consent(context, call_next, InputRequiredToolResult, tool=context.message.name)

    async def on_get_prompt(self, context: GetPrompt, call_next: Next) -> Any:
        return await self._with_consent(context, call_next, InputRequiredPromptResult)

    async def on_read_resource(self, context: ReadResource, call_next: Next) -> Any:
        return await self._with_consent(context, call_next, InputRequiredResourceResult)

    async def _with_consent(
        self,
        context: AnyRequest,
        call_next: Next,
        as_question: Callable[[mcp_types.InputRequiredResult], Any],
        *,
        tool: str = "",
    ) -> Any:
        client = context.fastmcp_context
        try:
            return await self._checked(context, call_next, tool)
        except FastMCPError as error:
            required = known_cause(error)
            if not isinstance(required, ConfirmationRequired) or client is None or not _can_ask(client):
                raise
        reply = await self._asked(client, required)
        if isinstance(reply, mcp_types.InputRequiredResult):
            return as_question(reply)
        await self._apply(reply, required)
        return await self._checked(context, call_next, tool)

    async def _checked(self, context: AnyRequest, call_next: Next, tool: str) -> Any:
        # In the event loop: checking whether a few small files changed takes less time than a switch to a thread.
        with self._access.pinned() as policy:
            if tool:
                policy.check_tool(tool)
            return await call_next(context)

    async def _asked(
        self, client: Context, required: ConfirmationRequired
    ) -> mcp_types.ElicitResult | mcp_types.InputRequiredResult:
        """Return what `_ask` returns. Raises `required` if the client cannot ask."""
        state = json.dumps([required.tool, required.directory, required.digest, *required.packages])
        message, answers = self._message(required), self._answers(required)
        try:
            return await _ask(client, _QUESTION, message, title="Allow it?", answers=answers, state=state)
        except (MCPError, ValidationError) as error:
            log.warning("The client could not ask its user: %s", in_line(str(error)))
            raise required from error

    async def _apply(self, reply: mcp_types.ElicitResult, required: ConfirmationRequired) -> None:
        answer = _answer_of(reply)
        if answer == _NO or answer not in self._answers(required):
            raise PermissionDenied(required.tool, required.skill_name, by_user=True)
        action = self._action(required)
        self._sessions.current().grant(
            Grant(action, required.directory, required.digest, packages=bool(required.packages))
        )
        if answer == _ALWAYS and self._remember is not None:
            try:
                await asyncio.to_thread(self._remember, action, required)
            except PolicyUnwritable as error:
                # The user agreed all the same. Only the log says that it cannot be kept.
                log.warning("%s (%s): the user is asked again next time", error.message, error.path)

    def _action(self, required: ConfirmationRequired) -> Action:
        action = TOOL_ACTIONS.get(required.tool)
        assert action is not None  # noqa: S101 - for the type checker: `Policy.check` names a tool of an action
        return action

    def _message(self, required: ConfirmationRequired) -> str:
        # The skill's own text is quoted on one line, so that it cannot imitate the question.
        description = shortened(for_model(required.description), _SHOWN_DESCRIPTION)
        action = _ACTIONS[self._action(required)]
        more = " It comes with a project that you have not agreed to trust." if required.untrusted_in else ""
        more += " Its files have changed since you allowed it." if required.changed else ""
        if required.packages:
            packages = shortened(for_model(", ".join(required.packages)), _SHOWN_DESCRIPTION)
            more += f" They have network access and fetch these packages from the package index: {packages!r}."
        name = path_for_model(required.skill_name)
        return f"The agent wants to {action} {name!r}.{more} Its description: {description!r}"

    def _answers(self, required: ConfirmationRequired) -> list[str]:
        # No rule can name a skill without letters in its name, so its answer cannot be remembered. Nor is one about
        # what awaits trust: a rule is about a name, and the project may put anything else under it.
        forgets = self._remember is None or not required.rule_name or required.untrusted_in
        return [_ONCE, _NO] if forgets else [_ONCE, _ALWAYS, _NO]


async def _ask(
    client: Context, key: str, message: str, *, title: str, answers: list[str], state: str
) -> mcp_types.ElicitResult | mcp_types.InputRequiredResult:
    """Show the client's user a form with one field, `answer`, and return the reply.

    In the 2026-07-28 protocol the answer to the call is a question at first, which is returned, and the client calls
    again with the reply and the `state`. In the 2025-11-25 protocol raises MCPError and ValidationError.
    """
    answer = {"type": "string", "title": title, "enum": answers}
    schema = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
    if not is_stateless(client):
        return await client.session.elicit(
            message=message, requested_schema=schema, related_request_id=client.request_id
        )
    reply = (client.input_responses or {}).get(key)
    # A reply is valid for its own question, and for no other skill or action.
    if client.request_state == state and isinstance(reply, mcp_types.ElicitResult):
        return reply
    form = mcp_types.ElicitRequestFormParams(message=message, requested_schema=schema)
    return mcp_types.InputRequiredResult(
        input_requests={key: mcp_types.ElicitRequest(params=form)}, request_state=state
    )


def _answer_of(reply: mcp_types.ElicitResult) -> object:
    return (reply.content or {}).get("answer") if reply.action == "accept" else _NO


def _can_ask(client: Context) -> bool:
    """Whether the client can show its user a form."""
    capabilities = client.session.client_capabilities
    elicitation = None if capabilities is None else capabilities.elicitation
    # A client that declares elicitation without a mode can show a form.
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


_TRUST_QUESTION = "skillhub-trust"
_TRUST, _LATER = "trust", "not now"
_SHOWN_NAMES, _SHOWN_LENGTH = 8, 64


class TrustQuestionMiddleware(Middleware):
    """Asks the client's user whether they trust the project, for a server over stdio, which has one session."""

    def __init__(self, hub: SkillHub, asking: TrustAsking) -> None:
        self._hub = hub
        self._asking = asking
        # The states of the questions.
        self._asked: set[str] = set()

    async def on_call_tool(self, context: CallTool, call_next: Next) -> Any:
        client = context.fastmcp_context
        loads = TOOL_ACTIONS.get(context.message.name) is Action.LOAD
        if client is not None and loads and _can_ask(client):
            question = await self._answered_or_asked(client, context.message)
            if question is not None:
                return InputRequiredToolResult(question)
        return await call_next(context)

    async def _answered_or_asked(
        self, client: Context, call: mcp_types.CallToolRequestParams
    ) -> mcp_types.InputRequiredResult | None:
        """Ask if there is something to ask, and record the answer; return a question that is the answer to the call."""
        try:
            brought = await asyncio.to_thread(self._brought_with, call.arguments or {})
            if brought is None:
                return None
            state = json.dumps([brought.project, *sorted(brought.digests.items())])
            if state in self._asked and client.request_state != state:
                return None
            self._asked.add(state)
            reply = await _ask(
                client, _TRUST_QUESTION, _message(brought), title="Trust it?", answers=[_TRUST, _LATER], state=state
            )
            if isinstance(reply, mcp_types.InputRequiredResult):
                return reply
            if _answer_of(reply) == _TRUST:
                await asyncio.to_thread(self._asking.agree, brought)
                # The call that asked is the first that the agreement is for.
                await asyncio.to_thread(self._hub.views.snapshot, fresh=True)
        except (SkillHubError, MCPError, ValidationError, OSError) as error:
            # The call itself does not depend on the answer.
            log.warning("Whether the project is trusted could not be asked or recorded: %s", in_line(str(error)))
        return None

    def _brought_with(self, arguments: Mapping[str, Any]) -> ProjectSkills | None:
        """Return what the project brings, if a skill of it that awaits trust would be loaded."""
        snapshot = self._hub.views.snapshot()
        policy = self._hub.access.now()
        names = Names(snapshot, policy)
        found = [skill for name in skills_named_in(arguments) if (skill := names.find(name.strip())) is not None]
        loaded = next((skill for skill in found if skill.awaits_trust and policy.offers(skill)), None)
        if loaded is None:
            return None
        brought = self._asking.brings(snapshot.within(loaded))
        return brought if brought.trust.is_awaited and brought.digests else None


def _message(brought: ProjectSkills) -> str:
    """Return the question: what the project brings, by names, and what trusting it changes."""
    skills = [one for place in brought.places for one in place.skills]
    taken = sorted({other.name for one in skills for other in one.takes_from})
    pinned = [one.skill.name for one in skills if one.skill.always_apply]
    linked = [one.outside for one in skills if one.outside]
    what = f"The project {path_for_model(brought.project)!r} brings skills that you have not agreed to as they are now"
    parts = [
        f"{what}: {_listed([one.skill.name for one in skills])}.",
        f"Once you trust it, it takes these names from your own skills: {_listed(taken)}." if taken else "",
        f"Each agent that connects then reads these: {_listed(pinned)}." if pinned else "",
        f"Links lead out of it to {_listed(linked)}; these are served only then." if linked else "",
        "Without that they are found and loaded too. `skillhub trust` shows them. Do you trust the project?",
    ]
    return " ".join(part for part in parts if part)


def _listed(names: list[str]) -> str:
    more = len(names) - _SHOWN_NAMES
    shown = ", ".join(repr(shortened(path_for_model(name), _SHOWN_LENGTH)) for name in names[:_SHOWN_NAMES])
    return shown + (f" and {more:,} more" if more > 0 else "")
