"""JSON from other programs: read, or refused with a reason."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")

_FORMAT = 1


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


class JsonFormat(Generic[T]):
    """JSON files that hold one value of a dataclass, `shape`, with `"format": 1`."""

    def __init__(self, shape: type[T]) -> None:
        self._shape = TypeAdapter(shape)

    def parse(self, text: str) -> T:
        """Return the value that a file holds. Raises BadJson."""
        content = read_json(text)
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise BadJson(f'it must be an object with "format": {_FORMAT}')
        try:
            return self._shape.validate_python(content)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise BadJson(f"{place}: {first['msg'].removeprefix('Value error, ')}") from error

    def text(self, value: T) -> str:
        """Return the content of the file for a value, the same for equal values."""
        content = self._shape.dump_python(value, mode="json", by_alias=True)
        return json.dumps({"format": _FORMAT, **content}, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


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
