"""Errors about a call's arguments, from the tool's own schema: what is allowed, and what was given."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.skills.suggestions import near_names

_SHOWN_VALUE = 40
_MAX_PROBLEMS = 8
_MISSING = ("missing", "missing_argument")
_UNEXPECTED = "unexpected_keyword_argument"
_NONE_REQUIRED = "none_required"
_TYPE_NAMES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "boolean",
    "object": "object",
}


def invalid_arguments(error: ValidationError, tool: str, schema: Mapping[str, Any]) -> InvalidArgument:
    """Return the error to report for a call of `tool`, whose arguments `schema` describes, that failed with `error`."""
    arguments: Mapping[str, Any] = schema.get("properties", {})
    # To leave an argument out is no fix for a wrong value.
    details = [
        item for item in error.errors(include_url=False, include_context=False) if item["type"] != _NONE_REQUIRED
    ]
    problems = [_problem(item["type"], item["loc"], item["input"], tool, arguments) for item in details[:_MAX_PROBLEMS]]
    hint = None
    if any(item["type"] in (*_MISSING, _UNEXPECTED) for item in details):
        required = schema.get("required", ())
        accepted = ", ".join(f"{name} (needed)" if name in required else name for name in arguments)
        hint = f"the arguments of {tool}: {accepted or 'none'}"
    (name, reason), *others = problems
    return InvalidArgument(name, "; ".join([reason, *(" ".join(other) for other in others)]), hint=hint)


def invalid_parameter(error: ValidationError) -> InvalidArgument:
    """Return the error to report for a request whose parameters are not those of its method."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = [str(step)[:_SHOWN_VALUE] for step in first["loc"] if step != "params"]
    name = ".".join(step if step.isprintable() else repr(step) for step in place) or "params"
    if first["type"] in _MISSING:
        return InvalidArgument(name, "is missing")
    return InvalidArgument(name, f"is invalid: {first['msg'][:1].lower()}{first['msg'][1:]}")


def _problem(
    kind: str, place: Sequence[int | str], given: object, tool: str, arguments: Mapping[str, Any]
) -> tuple[str, str]:
    """Return the name of an argument, or of a part of one, and its problem."""
    first = str(place[0])[:_SHOWN_VALUE] if place else "the arguments"
    first = first if first.isprintable() else repr(first)
    if kind in _MISSING:
        return first, "is missing"
    if kind == _UNEXPECTED:
        near = near_names(first, arguments, limit=1)
        return first, f"is not an argument of {tool}" + (f" (did you mean {near[0]}?)" if near else "")
    allowed: Mapping[str, Any] = arguments.get(first, {})
    inside = ""
    for step in place[1:]:
        if isinstance(step, int) and "items" in allowed:
            inside, allowed = f"{inside}[{step}]", allowed["items"]
    return first + inside, f"must be {_allowed(allowed)}, and is {_shown(given)}"


def _allowed(schema: Mapping[str, Any]) -> str:
    """Return a description of what a JSON schema allows."""
    if "enum" in schema:
        *most, last = (f"'{value}'" for value in schema["enum"])
        return f"{', '.join(most)} or {last}" if most else last
    kind = schema.get("type")
    if kind == "array":
        most_items = f", at most {schema['maxItems']:,} of them" if "maxItems" in schema else ""
        return f"a list of {_TYPE_NAMES.get(schema.get('items', {}).get('type', ''), 'value')}s{most_items}"
    if kind == "boolean":
        return "true or false"
    if kind == "string":
        return "text" + (f" of at most {schema['maxLength']:,} characters" if "maxLength" in schema else "")
    if kind in ("integer", "number"):
        return f"a {_TYPE_NAMES[kind]}{_range(schema)}"
    return "an object" if kind == "object" else "something else"


def _range(schema: Mapping[str, Any]) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is None or most is None:
        return "" if least is None else f" of at least {least:,}"
    return f" from {least:,} to {most:,}"


def _shown(given: object) -> str:
    if isinstance(given, str):
        return repr(given) if len(given) <= _SHOWN_VALUE else f"text of {len(given):,} characters"
    if isinstance(given, Sequence):
        return f"a list of {len(given):,}"
    return "an object" if isinstance(given, Mapping) else json.dumps(given)
