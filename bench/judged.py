"""The judged questions that search is fitted to and measured on, and libraries of real skills of several sizes.

`bench/tasks/` has our own; the development queries lie beside the project, as the skills do. `fit` may be looked at;
`held` was written and judged before the search was changed, and nobody who works on it reads it.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
TASKS = ROOT / "bench" / "tasks"
ANSWERS = ROOT / "bench" / "phrasing" / "answers"
DEVELOPMENT = SHARED / "eval" / "queries.jsonl"


@dataclass(frozen=True)
class Question:
    """One way of asking for a task: its text, and the ids of the skills that answer it, none where it is hopeless.

    `phrasing` is `people`, `agent` (few words), `sentence` or `long`; the same `task` may be asked in several.
    """

    task: str
    phrasing: str
    text: str
    kind: str
    relevant: frozenset[str]


def asked_by_people(path: Path, *, phrasing: str = "people") -> list[Question]:
    """Return the questions of a file as they are written."""
    return [
        Question(row["id"], phrasing, row["text"], row.get("kind", ""), frozenset(row["relevant"]))
        for row in _rows(path)
    ]


def asked_in_shared_words(phrasing: str, field: str) -> list[Question]:
    """Return the development queries as the agent of the shared evaluation asked them."""
    texts = {row["id"]: row[field] for row in _rows(SHARED / "eval" / "agent_queries.jsonl")}
    return [replace(one, phrasing=phrasing, text=texts[one.task]) for one in asked_by_people(DEVELOPMENT)]


def asked_by_agents(questions: Sequence[Question], wording: str, *, phrasing: str) -> list[Question]:
    """Return the questions as agents asked them that read that `wording` of the tool (see `phrasing.py`)."""
    texts = {row["id"]: row["query"] for row in _rows(ANSWERS / f"{wording}.jsonl")}
    return [replace(one, phrasing=phrasing, text=texts[one.task]) for one in questions]


def for_fitting() -> list[Question]:
    """Return every question that the search may be fitted to."""
    people = [*asked_by_people(DEVELOPMENT), *asked_by_people(TASKS / "fit.jsonl")]
    return [
        *people,
        *asked_by_people(ROOT / "tests" / "quality" / "queries.jsonl"),
        *asked_in_shared_words("agent", "query"),
        *asked_in_shared_words("sentence", "sentence"),
        *asked_by_agents(people, "few-words", phrasing="agent"),
        *asked_by_agents(people, "terms", phrasing="agent"),
        *asked_by_agents(people, "sentence-terms", phrasing="sentence"),
        *asked_by_agents(people, "description", phrasing="sentence"),
        *asked_by_people(TASKS / "long-fit.jsonl", phrasing="long"),
    ]


def skill_paths() -> dict[str, Path]:
    """Return the directory of each skill of the corpus by its id."""
    corpus = SHARED / "corpus"
    return {row["id"]: (corpus / row["path"]).parent for row in _rows(corpus / "index.jsonl")}


def small_library(target: Path, questions: Sequence[Question], size: int, *, seed: int) -> dict[str, Path]:
    """Copy so many skills below `target`, half of them because they answer a question; return their directories."""
    choose, paths = random.Random(seed), skill_paths()
    answering = [one for one in questions if one.relevant]
    choose.shuffle(answering)
    chosen: dict[str, None] = {}
    for one in answering:
        if len(chosen) >= size // 2:
            break
        chosen.update(dict.fromkeys(sorted(one.relevant)[:2]))
    others = sorted(paths.keys() - chosen)
    chosen.update(dict.fromkeys(choose.sample(others, size - len(chosen))))
    placed = {}
    for number, skill in enumerate(chosen):
        placed[skill] = target / f"{number:04}" / paths[skill].name
        placed[skill].mkdir(parents=True)
        shutil.copy(paths[skill] / "SKILL.md", placed[skill])
    return placed


def of_library(questions: Sequence[Question], skills: frozenset[str], *, most: int, seed: int) -> list[Question]:
    """Return up to `most` questions that those skills answer, and half as many that none of them does."""
    choose = random.Random(seed)
    answered = [replace(one, relevant=one.relevant & skills) for one in questions if one.relevant & skills]
    hopeless = [replace(one, relevant=frozenset()) for one in questions if not one.relevant & skills]
    choose.shuffle(answered)
    choose.shuffle(hopeless)
    return answered[:most] + hopeless[: min(most, len(answered)) // 2]


def directory_ids(placed: dict[str, Path]) -> dict[str, str]:
    """Return the id of the skill in each directory."""
    return {os.path.realpath(path): skill for skill, path in placed.items()}


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
