"""Consent: asks the client's user for what the rules neither allow nor deny.

In the 2025-11-25 protocol the server asks while the call waits. In the 2026-07-28 protocol the answer to the call is a
question, and the client calls again with the reply. A client that cannot ask gets CONFIRMATION_REQUIRED.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import mcp_types
from fastmcp.exceptions import FastMCPError
from fastmcp.prompts.base import InputRequiredPromptResult
from fastmcp.resources.base import InputRequiredResourceResult
from fastmcp.server.context import Context
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import InputRequiredToolResult, Tool
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from skillhub_mcp.errors import ConfirmationRequired, PermissionDenied, PolicyUnwritable
from skillhub_mcp.policy.access import Access, Grant
from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.sanitize import for_model, path_for_model, shortened
from skillhub_mcp.server.error_responses import known_cause
from skillhub_mcp.server.middleware.sessions import Sessions, is_stateless

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
        self._open: set[anyio.CancelScope] = set()

    def end_questions(self) -> None:
        """Wait for no reply: a server over HTTP that stops takes no new request, and a reply is one."""
        for question in self._open:
            question.cancel()

    async def on_list_tools(
        self,
        context: MiddlewareContext[mcp_types.ListToolsRequest],
        call_next: CallNext[mcp_types.ListToolsRequest, Sequence[Tool]],
    ) -> Sequence[Tool]:
        tools = await call_next(context)
        if self._access.may_run():
            return tools
        return [tool for tool in tools if self._access.tools.action(tool.name) is not Action.RUN]

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, Any],
    ) -> Any:
        return await self._with_consent(context, call_next, InputRequiredToolResult, tool=context.message.name)

    async def on_get_prompt(
        self,
        context: MiddlewareContext[mcp_types.GetPromptRequestParams],
        call_next: CallNext[mcp_types.GetPromptRequestParams, Any],
    ) -> Any:
        return await self._with_consent(context, call_next, InputRequiredPromptResult)

    async def on_read_resource(
        self,
        context: MiddlewareContext[mcp_types.ReadResourceRequestParams],
        call_next: CallNext[mcp_types.ReadResourceRequestParams, Any],
    ) -> Any:
        return await self._with_consent(context, call_next, InputRequiredResourceResult)

    async def _with_consent(
        self,
        context: MiddlewareContext[Any],
        call_next: CallNext[Any, Any],
        as_question: Callable[[mcp_types.InputRequiredResult], Any],
        *,
        tool: str = "",
    ) -> Any:
        client = context.fastmcp_context
        try:
            return await self._checked(context, call_next, tool)
        except FastMCPError as error:
            required = known_cause(error)
            if not isinstance(required, ConfirmationRequired) or client is None or not can_ask(client):
                raise
        if is_stateless(client):
            reply = (client.input_responses or {}).get(_QUESTION)
            # A reply is valid for its own question, and for no other skill or action.
            if client.request_state != _state(required) or not isinstance(reply, mcp_types.ElicitResult):
                return as_question(question(_QUESTION, self._form(required), _state(required)))
        else:
            reply = await self._asked(client, required)
        await self._apply(reply, required)
        return await self._checked(context, call_next, tool)

    async def _checked(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any], tool: str) -> Any:
        # In the event loop: checking whether a few small files changed takes less time than a switch to a thread.
        with self._access.pinned() as policy:
            if tool:
                policy.check_tool(tool)
            return await call_next(context)

    async def _asked(self, client: Context, required: ConfirmationRequired) -> mcp_types.ElicitResult:
        """Return the reply. Raises `required` if there is none."""
        with anyio.CancelScope() as question:
            self._open.add(question)
            try:
                return await elicit(client, self._form(required))
            except (MCPError, ValidationError) as error:
                log.warning("The client could not ask its user: %s", why_not_asked(error))
                raise required from error
            finally:
                self._open.discard(question)
        log.info("A question to a client's user was given up, since this server stops")
        raise required

    async def _apply(self, reply: mcp_types.ElicitResult, required: ConfirmationRequired) -> None:
        answer = (reply.content or {}).get("answer") if reply.action == "accept" else _NO
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
        action = self._access.tools.action(required.tool)
        assert action is not None  # noqa: S101 - for the type checker: `Policy.check` names a tool of an action
        return action

    def _message(self, required: ConfirmationRequired) -> str:
        # The skill's own text is quoted on one line, so that it cannot pass for the question.
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

    def _form(self, required: ConfirmationRequired) -> mcp_types.ElicitRequestFormParams:
        return form(self._message(required), title="Allow it?", answers=self._answers(required))


def _state(required: ConfirmationRequired) -> str:
    return json.dumps([required.tool, required.directory, required.digest, *required.packages])


def form(message: str, *, title: str, answers: list[str]) -> mcp_types.ElicitRequestFormParams:
    """Return a form with one field, `answer`."""
    answer = {"type": "string", "title": title, "enum": answers}
    schema = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
    return mcp_types.ElicitRequestFormParams(message=message, requested_schema=schema)


async def elicit(client: Context, asked: mcp_types.ElicitRequestFormParams) -> mcp_types.ElicitResult:
    """Show the user a form, in the 2025-11-25 protocol. Raises MCPError and ValidationError."""
    return await client.session.elicit(
        message=asked.message, requested_schema=asked.requested_schema, related_request_id=client.request_id
    )


def question(key: str, asked: mcp_types.ElicitRequestFormParams, state: str) -> mcp_types.InputRequiredResult:
    """Return the result that asks the client to show its user a form, in the 2026-07-28 protocol."""
    return mcp_types.InputRequiredResult(
        input_requests={key: mcp_types.ElicitRequest(params=asked)}, request_state=state
    )


def why_not_asked(error: Exception) -> str:
    """Return why a client did not ask its user, or what is wrong with the reply that it gave, on one line."""
    if not isinstance(error, ValidationError):
        return str(error)
    problems = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False))
    return f"its reply is not what MCP has for one: {'; '.join(problems)}"


def can_ask(client: Context) -> bool:
    """Whether the client can show its user a form."""
    capabilities = client.session.client_capabilities
    elicitation = None if capabilities is None else capabilities.elicitation
    # A client that declares elicitation without a mode can show a form.
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)
