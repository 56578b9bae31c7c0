"""Compare the ranking of every question in `bench/tasks` with the frozen one: `python -m bench.rankings [--write]`.

Prints how many first hits, sets and orders of the first ten, and confidences differ, then each question that differs.
Exits with 1 if one does. `--write` freezes the present rankings. The skills lie beside the project.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bench.judged import SHARED, TASKS, Question, asked_by_agents, asked_by_people
from bench.quality import searchable

from skillhub_mcp.bootstrap.hub import make_hub
from skillhub_mcp.settings import read_settings

FROZEN = Path(__file__).with_name("rankings")
PROVIDERS = ("none", "local")
_SKILLS = (SHARED / "corpus" / "skills").resolve()
_DEPTH = 10
_LONG = ("long-fit", "long-held")
_WORDINGS = {
    "fit": ("few-words", "sentence-terms", "terms"),
    "held": ("held-few-words", "held-sentence-terms", "held-terms"),
}


@dataclass(frozen=True)
class Ranking:
    """The first ten skills of an answer, as paths below the corpus, and the score of the first to two digits."""

    confidence: str
    skills: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join((self.confidence, *self.skills))


Rankings = Mapping[str, Ranking]


def questions() -> Iterator[tuple[str, Question]]:
    """Yield the questions of `bench/tasks`, in every phrasing, each with a key: file, wording if any, and task."""
    for path in sorted(TASKS.glob("*.jsonl")):
        asked = asked_by_people(path, phrasing="long" if path.stem in _LONG else "people")
        yield from ((f"{path.stem}/{one.task}", one) for one in asked)
        for wording in _WORDINGS.get(path.stem, ()):
            yield from ((f"{wording}/{one.task}", one) for one in asked_by_agents(asked, wording, phrasing="agent"))


def rank(provider: str, every: int = 1) -> Rankings:
    """Return the ranking of each question, or of one in `every`, with that EMBEDDING_PROVIDER.

    Threshold and confidence are 0, so that an answer has ten skills, however well they fit.
    """
    with tempfile.TemporaryDirectory(prefix="skillhub-rankings-") as scratch:
        environment = {
            "SKILLS_DIR": str(_SKILLS),
            "DB_PATH": f"{scratch}/db",
            "EMBEDDING_PROVIDER": provider,
            "SEARCH_THRESHOLD": "0",
            "SEARCH_CONFIDENCE": "0",
        }
        hub = make_hub(read_settings(environment)[0], background=False)
        try:
            searchable(hub, with_vectors=provider != "none")
            found = {}
            for key, one in islice(questions(), None, None, every):
                hits = hub.search(one.text, limit=_DEPTH).hits
                paths = (Path(hit.skill.directory).relative_to(_SKILLS).as_posix() for hit in hits)
                found[key] = Ranking(f"{hits[0].score if hits else 0.0:.2f}", tuple(paths))
            return found
        finally:
            hub.close()


def differences(before: Rankings, after: Rankings) -> list[str]:
    """Return a line that counts what differs and two for each question that does, or nothing."""
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    if not changed:
        return []
    both = [(before[key], after[key]) for key in changed if key in before and key in after]
    counts = {
        "first hits": sum(old.skills[:1] != new.skills[:1] for old, new in both),
        "sets of ten": sum(set(old.skills) != set(new.skills) for old, new in both),
        "orders": sum(old.skills != new.skills for old, new in both),
        "confidences": sum(old.confidence != new.confidence for old, new in both),
        "questions on one side only": len(changed) - len(both),
    }
    lines = [f"{len(changed)} of {len(before)} questions differ: " + ", ".join(f"{n} {of}" for of, n in counts.items())]
    for key in changed:
        lines.append(key)
        lines += [f"  {sign} {side[key]}" for sign, side in (("-", before), ("+", after)) if key in side]
    return lines


def write(rankings: Mapping[str, Rankings]) -> None:
    """Freeze the rankings of each provider; a skill is written as its line in skills.txt, which keeps them small."""
    skills = sorted({skill for own in rankings.values() for one in own.values() for skill in one.skills})
    numbers = {skill: str(number) for number, skill in enumerate(skills, 1)}
    _write_lines("skills", skills)
    for provider, own in rankings.items():
        rows = ((key, one.confidence, *(numbers[skill] for skill in one.skills)) for key, one in own.items())
        _write_lines(provider, [" ".join(row) for row in rows])


def frozen(provider: str) -> Rankings:
    """Return the rankings that were frozen with that provider."""
    skills = _lines("skills")
    rows = (line.split(" ") for line in _lines(provider))
    return {
        key: Ranking(confidence, tuple(skills[int(number) - 1] for number in numbers))
        for key, confidence, *numbers in rows
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare or write; return the exit code."""
    parser = argparse.ArgumentParser(description="Compare the rankings with the frozen ones.")
    parser.add_argument("--write", action="store_true", help="freeze the present rankings")
    is_writing = parser.parse_args(arguments).write
    present = {provider: rank(provider) for provider in PROVIDERS}
    if is_writing:
        write(present)
        return 0
    found = {provider: differences(frozen(provider), own) for provider, own in present.items()}
    for provider, lines in found.items():
        print(f"EMBEDDING_PROVIDER={provider}: {'no difference' if not lines else lines[0]}", *lines[1:], sep="\n")
    return 1 if any(found.values()) else 0


def _write_lines(name: str, lines: Sequence[str]) -> None:
    (FROZEN / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def _lines(name: str) -> list[str]:
    return (FROZEN / f"{name}.txt").read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    sys.exit(main())
