"""JSON from other programs: read, or refused with a reason."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")


class BadJson(ValueError):
    """A text that is not JSON, or not what it should be; the message says why, and `line` where, if that is known."""

    def __init__(self, reason: str, *, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


def read_json(text: str, *, pairs: Callable[[Sequence[tuple[str, Any]]], Any] | None = None) -> Any:
    """Return what a text says; `pairs` replaces the members of an object. Raises BadJson."""
    try:
        return json.loads(text, object_pairs_hook=pairs, parse_int=_whole_number)
    except json.JSONDecodeError as error:
        raise BadJson(f"line {error.lineno} is not JSON: {error.msg}", line=error.lineno) from error
    except RecursionError as error:
        raise BadJson("it is nested too deeply") from error


def unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's members. Raises BadJson if a key appears twice: JSON would silently use the last one."""
    keys = [key for key, _ in pairs]
    repeated = next((key for key in keys if keys.count(key) > 1), None)
    if repeated is not None:
        raise BadJson(f"the key {repeated!r} appears twice")
    return dict(pairs)


def read_format(text: str, version: int, shape: TypeAdapter[T]) -> T:
    """Return a JSON object with that version as its `format`, as a value of `shape`. Raises BadJson."""
    content = read_json(text)
    if not isinstance(content, dict) or content.get("format") != version:
        raise BadJson(f'it must be an object with "format": {version}')
    try:
        return shape.validate_python(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise BadJson(f"{'.'.join(map(str, first['loc']))}: {first['msg'].removeprefix('Value error, ')}") from error


def format_text(version: int, content: Mapping[str, object]) -> str:
    """Return the text of a JSON file of that `format`, which `read_format` reads."""
    return json.dumps({"format": version, **content}, ensure_ascii=False, indent=2) + "\n"


def absolute_path(path: str) -> str:
    """Return an absolute path. Raises ValueError for another text."""
    if not os.path.isabs(path) or "\0" in path:
        raise ValueError(f"{path!r} is not an absolute path")
    return path


def _whole_number(digits: str) -> int:
    try:
        return int(digits)
    except ValueError as error:
        # Python reads none of thousands of digits, which would take long.
        raise BadJson("it has a number that is too long") from error
