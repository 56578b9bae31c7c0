"""Read judged queries: JSON lines with queries and their relevant skills."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skillhub_mcp.errors import QueriesUnreadable

OTHER_KIND = "any"


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query and the ids of its relevant skills, if any. `kind` groups queries in a report; `line` counts from 1."""

    id: str
    text: str
    kind: str
    relevant: frozenset[str]
    line: int = field(default=0, compare=False)


def read_queries(path: str) -> list[JudgedQuery]:
    """Return the queries of a file of JSON lines with `text` and `relevant` ids. Raises QueriesUnreadable."""
    queries = [_query(path, number, value) for number, value in _objects(path)]
    if not queries:
        raise QueriesUnreadable(path, 0, "contains no queries")
    return queries


def read_skill_ids(path: str) -> dict[str, str]:
    """Return directories by skill id from JSON lines of `id` and relative `path`. Raises QueriesUnreadable."""
    parent = os.path.dirname(os.path.abspath(path))
    found: dict[str, str] = {}
    for number, value in _objects(path):
        try:
            found[str(value["id"])] = os.path.realpath(os.path.join(parent, os.path.dirname(value["path"])))
        except (KeyError, TypeError, ValueError) as error:
            raise QueriesUnreadable(path, number, 'needs "id" and "path"') from error
    return found


def relevant_directories(
    queries: Sequence[JudgedQuery], ids: Mapping[str, str], names: Mapping[str, str], path: str
) -> list[frozenset[str]]:
    """Return the relevant directories of each query. Raises QueriesUnreadable for an unknown skill id."""
    # The directories of ids are canonical; those of skills may lead through a link of their root.
    places = {os.path.realpath(directory): directory for directory in names.values()}
    known = {**names, **{skill_id: places[directory] for skill_id, directory in ids.items() if directory in places}}
    found = []
    for query in queries:
        unknown = sorted(query.relevant - known.keys())
        if unknown:
            raise QueriesUnreadable(path, query.line, f"names the skill {unknown[0]!r}, which does not exist")
        found.append(frozenset(known[skill_id] for skill_id in query.relevant))
    return found


def _objects(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with open(path, encoding="utf-8-sig") as file:
            # Only a newline ends a line: other line separators may be part of a text.
            lines = file.read().split("\n")
    except UnicodeDecodeError as error:
        raise QueriesUnreadable(path, 0, f"cannot be read: {error}") from error
    except OSError as error:
        raise QueriesUnreadable(path, 0, f"cannot be read: {error.strerror or error}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise QueriesUnreadable(path, number, f"is not valid JSON: {error}") from error
        if not isinstance(value, dict):
            raise QueriesUnreadable(path, number, "is not a JSON object")
        yield number, value


def _query(path: str, number: int, value: Mapping[str, Any]) -> JudgedQuery:
    text, relevant, kind = value.get("text"), value.get("relevant"), value.get("kind")
    if not isinstance(text, str) or not text.strip():
        raise QueriesUnreadable(path, number, 'needs a "text"')
    if not isinstance(relevant, list | dict) or not all(isinstance(skill_id, str) for skill_id in relevant):
        raise QueriesUnreadable(path, number, 'needs "relevant": a list of skill names, empty where no skill matches')
    return JudgedQuery(
        id=str(value.get("id", number)),
        text=text,
        kind=OTHER_KIND if kind is None else str(kind),
        relevant=frozenset(relevant),
        line=number,
    )
