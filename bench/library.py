"""Libraries of made-up skills, of any size, the same on every machine."""

from __future__ import annotations

import random
import re
from pathlib import Path

_VERBS = ("extract", "review", "deploy", "translate", "summarise", "profile", "convert", "plan", "test", "draw")
_THINGS = ("invoices", "pull requests", "containers", "meeting notes", "tables", "queries", "charts", "logs", "forms")
_TOOLS = ("pandas", "kubectl", "pytest", "ffmpeg", "terraform", "sqlite", "nginx", "latex", "react", "spark")
_CATEGORIES = ("development", "documents", "data", "operations", "writing")


def tasks(count: int, *, seed: int = 7) -> list[str]:
    """Return so many tasks for such a library, each another."""
    found = [f"{verb} {thing} with {tool}" for verb in _VERBS for thing in _THINGS for tool in _TOOLS]
    return random.Random(seed).sample(found, count)


def write_library(directory: Path, count: int, *, seed: int = 7) -> Path:
    """Write `count` skills below `directory`, each about 2 KB with one reference file, and return it."""
    choose = random.Random(seed)
    for number in range(count):
        name = f"skill-{number:06d}"
        verb, thing, tool = choose.choice(_VERBS), choose.choice(_THINGS), choose.choice(_TOOLS)
        folder = directory / name
        (folder / "references").mkdir(parents=True)
        body = "\n".join(f"{step}. Use {tool} to {verb} the {thing}, then check it." for step in range(1, 41))
        (folder / "SKILL.md").write_text(
            f"---\nname: {name}\n"
            f"description: {verb.capitalize()} {thing} with {tool}. Use when number {number} is due.\n"
            f'metadata:\n  skillhub.category: "{choose.choice(_CATEGORIES)}"\n  skillhub.tags: "{tool}, {verb}"\n'
            f"---\n# {name}\n\n{body}\n",
            encoding="utf-8",
        )
        (folder / "references" / "guide.md").write_text(f"# Guide to {name}\n", encoding="utf-8")
    return directory


def write_from_corpus(
    corpus: Path, directory: Path, count: int, *, seed: int = 7, most_characters: int | None = None
) -> Path:
    """Write `count` skills made from the real ones: the head of one, paragraphs of it and of another, a rare word.

    With `most_characters` longer ones are cut before that word.
    """
    choose = random.Random(seed)
    real: list[tuple[str, list[str]]] = []
    for file in sorted(corpus.rglob("SKILL.md")):
        text = file.read_text(encoding="utf-8", errors="replace")
        head = re.match(r"---\n(?:.*\n)*?name: *\S.*\n(?:.*\n)*?---\n", text)
        if head is not None and "description:" in head[0]:
            real.append((re.sub(r"(?m)^name:.*$", "name: {name}", head[0], count=1), text[head.end() :].split("\n\n")))
    for number in range(count):
        header, own = real[number % len(real)]
        other = choose.choice(real)[1]
        paragraphs = own[: max(1, len(own) * 2 // 3)] + choose.sample(other, k=len(other) // 3)
        folder = directory / f"{number // 1_000:03}" / f"skill-{number:06d}"
        folder.mkdir(parents=True)
        text = header.replace("{name}", folder.name) + "\n\n".join(paragraphs)
        word = f"\n\nNumber {choose.getrandbits(40):x}."
        (folder / "SKILL.md").write_text(text[:most_characters] + word, encoding="utf-8")
    return directory
