"""Who agrees? Asks the client's user where the rules leave something open, in either protocol era (seed 000 §8.1).

In the older era the server asks while the call waits. In the newer one the answer to the call is a question, and the
client calls again with the person's reply. A client that cannot ask gets CONFIRMATION_REQUIRED (DECISIONS 25).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

import mcp_types
from fastmcp.exceptions import FastMCPError
from fastmcp.prompts.base import InputRequiredPromptResult
from fastmcp.resources.base import InputRequiredResourceResult
from fastmcp.server.context import Context
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import InputRequiredToolResult
from mcp.shared.exceptions import MCPError

from skillhub_mcp.disclosure.sanitization import shortened, visible
from skillhub_mcp.errors import ConfirmationRequired, PermissionDenied
from skillhub_mcp.policy.access import Access
from skillhub_mcp.policy.rules import Action
from skillhub_mcp.server.middleware.sessions import Sessions, is_stateless

log = logging.getLogger(__name__)

_QUESTION = "skillhub-permission"
_ONCE, _ALWAYS, _NO = "once", "always", "no"
_SHOWN_DESCRIPTION = 500


class ConsentMiddleware(Middleware):
    """Stops what a rule denies, and asks about what needs a person's word.

    `remember` keeps a rule for a skill of that name; without it, as over HTTP, where the answer is one client's and
    the rules are everybody's, an answer holds for the session.
    """

    def __init__(self, access: Access, sessions: Sessions, *, remember: Callable[[Action, str], None] | None) -> None:
        self._access = access
        self._sessions = sessions
        self._remember = remember

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, Any],
    ) -> Any:
        # Whether a few small files are still the same is known sooner than a thread could be asked. Where the disk that
        # they are on stands still, so does every answer, whichever way it asks.
        self._access.now().check_tool(context.message.name)
        return await self._agreed(context, call_next, InputRequiredToolResult)

    async def on_get_prompt(
        self,
        context: MiddlewareContext[mcp_types.GetPromptRequestParams],
        call_next: CallNext[mcp_types.GetPromptRequestParams, Any],
    ) -> Any:
        return await self._agreed(context, call_next, InputRequiredPromptResult)

    async def on_read_resource(
        self,
        context: MiddlewareContext[mcp_types.ReadResourceRequestParams],
        call_next: CallNext[mcp_types.ReadResourceRequestParams, Any],
    ) -> Any:
        return await self._agreed(context, call_next, InputRequiredResourceResult)

    async def _agreed(
        self,
        context: MiddlewareContext[Any],
        call_next: CallNext[Any, Any],
        as_question: Callable[[mcp_types.InputRequiredResult], Any],
    ) -> Any:
        client = context.fastmcp_context
        try:
            return await call_next(context)
        except FastMCPError as error:
            asked = _confirmation(error)
            if asked is None or client is None or not _can_ask(client):
                raise
        if is_stateless(client):
            reply = (client.input_responses or {}).get(_QUESTION)
            # A reply counts for the question that it was given to, and for no other skill or act.
            if client.request_state != _state(asked) or not isinstance(reply, mcp_types.ElicitResult):
                return as_question(self._question(asked))
        else:
            try:
                reply = await client.session.elicit(
                    message=_message(asked), requested_schema=self._form(asked), related_request_id=client.request_id
                )
            except MCPError as error:
                log.warning("The client could not ask its person: %s", error)
                raise asked from error
        await self._take(reply, asked)
        return await call_next(context)

    async def _take(self, reply: mcp_types.ElicitResult, asked: ConfirmationRequired) -> None:
        answer = (reply.content or {}).get("answer") if reply.action == "accept" else _NO
        if answer == _NO or answer not in self._answers(asked):
            raise PermissionDenied(asked.tool, asked.skill_name, by_person=True)
        self._sessions.current().grant((Action(asked.tool), asked.directory))
        if answer == _ALWAYS and self._remember is not None:
            await asyncio.to_thread(self._remember, Action(asked.tool), asked.rule_name)

    def _answers(self, asked: ConfirmationRequired) -> list[str]:
        # A skill whose name has no letters is known to no rule, so nothing can be remembered of it.
        return [_ONCE, _NO] if self._remember is None or not asked.rule_name else [_ONCE, _ALWAYS, _NO]

    def _form(self, asked: ConfirmationRequired) -> dict[str, Any]:
        answer = {"type": "string", "title": "Allow it?", "enum": self._answers(asked)}
        return {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}

    def _question(self, asked: ConfirmationRequired) -> mcp_types.InputRequiredResult:
        params = mcp_types.ElicitRequestFormParams(message=_message(asked), requested_schema=self._form(asked))
        return mcp_types.InputRequiredResult(
            input_requests={_QUESTION: mcp_types.ElicitRequest(params=params)}, request_state=_state(asked)
        )


def _message(asked: ConfirmationRequired) -> str:
    """Return the question, with the skill's own words on one line that cannot pass for ours."""
    description = shortened(visible(asked.description), _SHOWN_DESCRIPTION)
    doing = {
        Action.LOAD: "load the skill",
        Action.READ: "read files of the skill",
        Action.RUN: "run commands of the skill",
    }
    return f"The agent wants to {doing[Action(asked.tool)]} {asked.skill_name!r}. Its description: {description!r}"


def _state(asked: ConfirmationRequired) -> str:
    return json.dumps([asked.tool, asked.directory])


def _confirmation(error: BaseException | None) -> ConfirmationRequired | None:
    while error is not None and not isinstance(error, ConfirmationRequired):
        error = error.__cause__
    return error


def _can_ask(client: Context) -> bool:
    capabilities = client.session.client_capabilities
    asking = None if capabilities is None else capabilities.elicitation
    # A client that says no more than that it can ask can show a form.
    return asking is not None and (asking.form is not None or asking.url is None)
