"""What does the container image's file say?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

CONTAINER = Path(__file__).parents[2] / "examples" / "container"
Instruction = tuple[str, str]


def stages() -> Iterator[list[Instruction]]:
    """Yield the instructions of each stage of the Dockerfile: the word, and what follows it."""
    lines = [line for line in (CONTAINER / "Dockerfile").read_text("utf-8").splitlines() if not line.startswith("#")]
    stage: list[Instruction] = []
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        word, _, rest = line.partition(" ")
        if word == "FROM" and stage:
            yield stage
            stage = []
        if word:
            stage.append((word, " ".join(rest.split())))
    yield stage


def of(stage: Sequence[Instruction], word: str) -> list[str]:
    return [rest for name, rest in stage if name == word]


def environment_of(stage: Sequence[Instruction]) -> dict[str, str]:
    return dict(pair.split("=", 1) for rest in of(stage, "ENV") for pair in shlex.split(rest))
