"""The tools, resources and prompts that the official suite calls by name, on the hub's own server.

The suite tests most of the protocol through components with fixed names. They are registered on the server of
`make_server`, beside the hub's, so that the hub's own middleware, sessions and HTTP are tested. Run as a program it
serves over HTTP on a free port, as `skillhub --transport http --port 0` does.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import mcp_types
from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.prompts.base import Message, PromptResult
from fastmcp.server.context import Context
from fastmcp.tools.base import Tool, ToolResult
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import MISSING_REQUIRED_CLIENT_CAPABILITY
from pydantic import Field

from skillhub_mcp.bootstrap.hub import make_hub
from skillhub_mcp.bootstrap.server import http_options, server_options
from skillhub_mcp.cli.log_format import log_to_stderr
from skillhub_mcp.server.app import make_server
from skillhub_mcp.server.http.app import serve_http
from skillhub_mcp.settings import read_settings

# One red pixel, and no sound at all.
_PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
_WAV = base64.b64decode("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=")

_Function = TypeVar("_Function", bound=Callable[..., Any])

_SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def add_fixtures(server: FastMCP) -> None:
    """Register the components of the suite on `server`."""
    _add_content_tools(server)
    _add_talking_tools(server)
    _add_elicitation_tools(server)
    _add_asking_tools(server)
    _add_tools_with_a_state(server)
    _add_resources(server)
    _add_prompts(server)


def _tool(server: FastMCP) -> Callable[[_Function], _Function]:
    return server.tool(output_schema=None, description="What the suite calls by this name")


def _image() -> mcp_types.ImageContent:
    return mcp_types.ImageContent(type="image", data=base64.b64encode(_PNG).decode(), mime_type="image/png")


def _text(text: str) -> mcp_types.TextContent:
    return mcp_types.TextContent(type="text", text=text)


def _embedded(uri: str, media_type: str, text: str) -> mcp_types.EmbeddedResource:
    resource = mcp_types.TextResourceContents(uri=uri, mime_type=media_type, text=text)
    return mcp_types.EmbeddedResource(type="resource", resource=resource)


def _add_content_tools(server: FastMCP) -> None:
    @_tool(server)
    def test_simple_text() -> str:
        return "This is a simple text response for testing."

    @_tool(server)
    def test_image_content() -> mcp_types.ImageContent:
        return _image()

    @_tool(server)
    def test_audio_content() -> mcp_types.AudioContent:
        return mcp_types.AudioContent(type="audio", data=base64.b64encode(_WAV).decode(), mime_type="audio/wav")

    @_tool(server)
    def test_embedded_resource() -> mcp_types.EmbeddedResource:
        return _embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")

    @_tool(server)
    def test_multiple_content_types() -> ToolResult:
        data = _embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
        return ToolResult(content=[_text("Multiple content types test:"), _image(), data])

    @_tool(server)
    def test_error_handling() -> str:
        raise ToolError("This tool intentionally returns an error for testing")

    @_tool(server)
    def test_custom_headers(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})] = "") -> str:
        return region

    server.add_tool(
        _WithSchema(
            name="json_schema_2020_12_tool", description="A schema with every keyword", parameters=_SCHEMA_2020_12
        )
    )


class _WithSchema(Tool):
    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(content=json.dumps(arguments))


def _add_talking_tools(server: FastMCP) -> None:
    @_tool(server)
    async def test_tool_with_logging(ctx: Context) -> str:
        for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await ctx.info(message)
        return "done"

    @_tool(server)
    async def test_logging_tool(ctx: Context) -> str:
        await ctx.info("only for those who asked for it")
        return "done"

    @_tool(server)
    async def test_tool_with_progress(ctx: Context) -> str:
        for progress in (0, 50, 100):
            await ctx.report_progress(progress, 100)
        return "done"

    @_tool(server)
    async def test_sampling(prompt: str, ctx: Context) -> str:
        message = mcp_types.SamplingMessage(role="user", content=_text(prompt))
        reply = await ctx.session.create_message([message], max_tokens=100, related_request_id=ctx.request_id)
        return f"LLM response: {getattr(reply.content, 'text', '')}"

    @_tool(server)
    async def test_missing_capability() -> str:
        needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool needs sampling", needed)


def _add_elicitation_tools(server: FastMCP) -> None:
    async def elicited(ctx: Context, message: str, properties: dict[str, Any], required: list[str]) -> str:
        schema = {"type": "object", "properties": properties, "required": required}
        reply = await ctx.session.elicit(message=message, requested_schema=schema, related_request_id=ctx.request_id)
        return f"action={reply.action}, content={json.dumps(reply.content)}"

    @_tool(server)
    async def test_elicitation(message: str, ctx: Context) -> str:
        asked = {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        }
        return f"User response: {await elicited(ctx, message, asked, list(asked))}"

    @_tool(server)
    async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
        asked = {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": True},
        }
        return f"Elicitation completed: {await elicited(ctx, 'Who are you?', asked, [])}"

    @_tool(server)
    async def test_elicitation_sep1330_enums(ctx: Context) -> str:
        plain = ["option1", "option2", "option3"]
        titled = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second"), 1)]
        asked = {
            "untitledSingle": {"type": "string", "enum": plain},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        }
        return f"Elicitation completed: {await elicited(ctx, 'Which?', asked, [])}"


def _form(message: str, **properties: str) -> mcp_types.ElicitRequest:
    schema = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(properties),
    }
    return mcp_types.ElicitRequest(params=mcp_types.ElicitRequestFormParams(message=message, requested_schema=schema))


def _sampling(text: str, max_tokens: int) -> mcp_types.CreateMessageRequest:
    message = mcp_types.SamplingMessage(role="user", content=_text(text))
    params = mcp_types.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    return mcp_types.CreateMessageRequest(params=params)


_NAME = _form("What is your name?", name="string")


def _asked(
    ctx: Context, requests: mcp_types.InputRequests, state: str | None = None
) -> mcp_types.InputRequiredResult | None:
    """Return the question, or None once all its keys are answered in the state in which it was asked."""
    replies = ctx.input_responses or {}
    if set(requests) <= set(replies) and ctx.request_state == state:
        return None
    return mcp_types.InputRequiredResult(input_requests=requests, request_state=state)


def _reply(ctx: Context, key: str) -> Any:
    return (ctx.input_responses or {})[key]


def _add_asking_tools(server: FastMCP) -> None:
    @_tool(server)
    async def test_input_required_result_elicitation(ctx: Context) -> Any:
        return _asked(ctx, {"user_name": _NAME}) or f"Hello, {_reply(ctx, 'user_name').content['name']}!"

    @_tool(server)
    async def test_streaming_elicitation(ctx: Context) -> Any:
        return _asked(ctx, {"user_name": _NAME}) or "done"

    @_tool(server)
    async def test_input_required_result_sampling(ctx: Context) -> Any:
        question = _sampling("What is the capital of France?", 100)
        return _asked(ctx, {"capital_question": question}) or _reply(ctx, "capital_question").content.text

    @_tool(server)
    async def test_input_required_result_list_roots(ctx: Context) -> Any:
        asked = _asked(ctx, {"client_roots": mcp_types.ListRootsRequest()})
        return asked or ", ".join(str(root.uri) for root in _reply(ctx, "client_roots").roots)

    @_tool(server)
    async def test_input_required_result_capabilities(ctx: Context) -> Any:
        able = ctx.session.client_capabilities
        requests: mcp_types.InputRequests = {}
        if able is not None and able.sampling is not None:
            requests["greeting"] = _sampling("Generate a greeting", 50)
        if able is not None and able.elicitation is not None:
            requests["user_name"] = _NAME
        return _asked(ctx, requests) or "done"


def _add_tools_with_a_state(server: FastMCP) -> None:
    @_tool(server)
    async def test_input_required_result_request_state(ctx: Context) -> Any:
        return _asked(ctx, {"confirm": _form("Please confirm", ok="boolean")}, "asked") or "state-ok"

    @_tool(server)
    async def test_input_required_result_tampered_state(ctx: Context) -> Any:
        return _asked(ctx, {"confirm": _form("Please confirm", ok="boolean")}, "sealed") or "untouched"

    @_tool(server)
    async def test_input_required_result_multiple_inputs(ctx: Context) -> Any:
        requests: mcp_types.InputRequests = {
            "user_name": _NAME,
            "greeting": _sampling("Generate a greeting", 50),
            "client_roots": mcp_types.ListRootsRequest(),
        }
        return _asked(ctx, requests, "three") or "done"

    @_tool(server)
    async def test_input_required_result_multi_round(ctx: Context) -> Any:
        second: mcp_types.InputRequests = {"step2": _form("Step 2: What is your favorite color?", color="string")}
        if ctx.request_state == "second":
            return _asked(ctx, second, "second") or "done"
        first: mcp_types.InputRequests = {"step1": _form("Step 1: What is your name?", name="string")}
        return _asked(ctx, first, "first") or mcp_types.InputRequiredResult(
            input_requests=second, request_state="second"
        )


def _add_resources(server: FastMCP) -> None:
    @server.resource("test://static-text", mime_type="text/plain", description="A text")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png", description="A picture")
    def static_binary() -> bytes:
        return _PNG

    @server.resource("test://template/{id}/data", mime_type="application/json", description="A template")
    def template(id: str) -> str:  # noqa: A002 - the suite's own word
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @server.resource("test://watched-resource", mime_type="text/plain", description="One to subscribe to")
    def watched() -> str:
        return "Watched."


def _add_prompts(server: FastMCP) -> None:
    @server.prompt(description="A prompt")
    def test_simple_prompt() -> str:
        return "This is a simple prompt for testing."

    @server.prompt(description="A prompt with arguments")
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt(description="A prompt with a resource")
    def test_prompt_with_embedded_resource(resourceUri: str) -> PromptResult:  # noqa: N803 - the suite's own word
        resource = _embedded(resourceUri, "text/plain", "Embedded resource content for testing.")
        return PromptResult([Message(resource), Message("Please process the embedded resource above.")])

    @server.prompt(description="A prompt with a picture")
    def test_prompt_with_image() -> PromptResult:
        return PromptResult([Message(_image()), Message("Please analyze the image above.")])

    @server.prompt(description="A prompt that asks first")
    async def test_input_required_result_prompt(ctx: Context) -> Any:
        asked = _asked(ctx, {"user_context": _form("What context should the prompt use?", context="string")})
        return asked or f"In the context {_reply(ctx, 'user_context').content['context']}"


def main() -> None:
    settings, _ = read_settings(os.environ)
    log_to_stderr(settings.observability.log_level, settings.observability.log_format)
    hub = make_hub(settings)
    server = make_server(hub, server_options(settings, hub, over_http=True))
    # One of the suite's tools takes an argument from a header, as none of the hub's does.
    server._mcp_server.get_tool_input_schema = None
    add_fixtures(server)
    serve_http(server, hub, http_options(settings, host="127.0.0.1", port=0))


if __name__ == "__main__":
    main()
