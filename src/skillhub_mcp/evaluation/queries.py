"""Which queries, and which skills answer them? A file of JSON lines, checked line by line."""

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
    """A query, and the skills that answer it well; none where nothing fits. `kind` groups queries in a report.

    `line` is where it stands in its file, counted from 1.
    """

    id: str
    text: str
    kind: str
    relevant: frozenset[str]
    line: int = field(default=0, compare=False)


def read_queries(path: str) -> list[JudgedQuery]:
    """Return the queries of a file: one JSON object a line, with `text` and `relevant`, perhaps `id` and `kind`.

    `relevant` is a list of skill ids, or an object that has them as keys. Raises QueriesUnreadable, naming the line.
    """
    queries = [_query(path, number, written) for number, written in _objects(path)]
    if not queries:
        raise QueriesUnreadable(path, 0, "holds no query")
    return queries


def read_skill_ids(path: str) -> dict[str, str]:
    """Return the directory of each skill id that a file names: JSON lines with `id` and `path` of the SKILL.md.

    Paths are relative to the file. Raises QueriesUnreadable, naming the line.
    """
    above = os.path.dirname(os.path.abspath(path))
    found: dict[str, str] = {}
    for number, written in _objects(path):
        try:
            found[str(written["id"])] = os.path.realpath(os.path.join(above, os.path.dirname(written["path"])))
        except (KeyError, TypeError, ValueError) as error:
            raise QueriesUnreadable(path, number, "needs an id and a path") from error
    return found


def relevant_directories(
    queries: Sequence[JudgedQuery], ids: Mapping[str, str], names: Mapping[str, str], path: str
) -> list[frozenset[str]]:
    """Return for each query the directories of its skills, by `ids` or else by `names`, which has all that are there.

    Raises QueriesUnreadable for an id that is neither: a skill that is not there would count as never found.
    """
    there = set(names.values())
    known = {**names, **{one: directory for one, directory in ids.items() if directory in there}}
    found = []
    for query in queries:
        unknown = sorted(query.relevant - known.keys())
        if unknown:
            raise QueriesUnreadable(path, query.line, f"names the skill {unknown[0]!r}, which is not there")
        found.append(frozenset(known[one] for one in query.relevant))
    return found


def _objects(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        # Editors on Windows begin a file with a byte order mark.
        with open(path, encoding="utf-8-sig") as file:
            # Only a newline ends a line: others may stand within a text.
            lines = file.read().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise QueriesUnreadable(path, 0, f"cannot be read: {error}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            written = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise QueriesUnreadable(path, number, f"is no JSON: {error}") from error
        if not isinstance(written, dict):
            raise QueriesUnreadable(path, number, "is no JSON object")
        yield number, written


def _query(path: str, number: int, written: Mapping[str, Any]) -> JudgedQuery:
    text, relevant, kind = written.get("text"), written.get("relevant"), written.get("kind")
    if not isinstance(text, str) or not text.strip():
        raise QueriesUnreadable(path, number, "needs a text")
    if not isinstance(relevant, list | dict) or not all(isinstance(one, str) for one in relevant):
        raise QueriesUnreadable(path, number, "needs relevant: a list of skill names, empty where nothing fits")
    return JudgedQuery(
        id=str(written.get("id", number)),
        text=text,
        kind=OTHER_KIND if kind is None else str(kind),
        relevant=frozenset(relevant),
        line=number,
    )
