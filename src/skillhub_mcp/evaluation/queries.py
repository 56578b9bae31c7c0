"""Read judged queries: JSON lines with queries and their relevant skills."""

from __future__ import annotations

import json
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


def relevant_directories(queries: Sequence[JudgedQuery], names: Mapping[str, str], path: str) -> list[frozenset[str]]:
    """Return the relevant directories of each query, by the names of skills. Raises QueriesUnreadable."""
    found = []
    for query in queries:
        unknown = sorted(query.relevant - names.keys())
        if unknown:
            raise QueriesUnreadable(path, query.line, f"names the skill {unknown[0]!r}, which does not exist")
        found.append(frozenset(names[name] for name in query.relevant))
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
