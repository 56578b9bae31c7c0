"""How well search finds the right skill: `python -m bench.quality` renews the table of docs/benchmarks.md.

`python -m bench.quality MODEL` prints that of the sentence encoder in the directory MODEL. The skills and
the development queries are beside the project; the other questions are in `bench/tasks`.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bench.judged import (
    DEVELOPMENT,
    ROOT,
    SHARED,
    TASKS,
    Question,
    asked_by_agents,
    asked_by_people,
    asked_in_shared_words,
    directory_ids,
    skill_paths,
)
from bench.sixty_lines import SixtyLines

from skillhub_mcp.bootstrap.hub import choose_embedder, make_hub
from skillhub_mcp.embedders.base import Embedder
from skillhub_mcp.evaluation.baselines import Engine, EngineAnswer, make_baseline
from skillhub_mcp.evaluation.measures import (
    Quality,
    calibration_error,
    mean_quality,
    measure_quality,
    refused_where_kept,
)
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index.search_index import SearchIndex
from skillhub_mcp.settings import read_settings
from skillhub_mcp.skills.loader import read_instructions

_REPORT = ROOT / "docs" / "benchmarks.md"
_PATIENCE_SECONDS = 60.0
_DEPTH = 10
_DRAWS = 200


@dataclass(frozen=True)
class Measured:
    """What an engine found for the questions of one way of asking."""

    questions: Sequence[Question]
    answers: Sequence[EngineAnswer]
    seconds: Sequence[float]

    @property
    def qualities(self) -> list[Quality]:
        """The quality of each answer to a question that has one."""
        pairs = zip(self.questions, self.answers, strict=True)
        return [measure_quality(answer.found, one.relevant) for one, answer in pairs if one.relevant]

    @property
    def scored(self) -> list[tuple[float, bool]]:
        """The score of each first hit, and whether it is right."""
        return [
            (answer.score, bool(answer.found) and answer.found[0] in one.relevant)
            for one, answer in zip(self.questions, self.answers, strict=True)
            if answer.score is not None
        ]

    def figures(self) -> str:
        """Return Hit@1 and nDCG@10."""
        mean = mean_quality(self.qualities)
        return f"{mean.hit_at_1:.2f} / {mean.ndcg_at_10:.2f}"

    def refused(self, *, found_among: int | None = None) -> str:
        """Return the share of hopeless questions refused where 95 % of the others are kept.

        Of the others all, or those with a right skill among so many first ones.
        """
        pairs = list(zip(self.questions, self.answers, strict=True))
        kept = [
            answer.score or 0.0
            for one, answer in pairs
            if one.relevant and (found_among is None or not one.relevant.isdisjoint(answer.found[:found_among]))
        ]
        share = refused_where_kept(kept, [answer.score or 0.0 for one, answer in pairs if not one.relevant])
        return "" if share is None else f"{share:.2f}"

    def told(self) -> str:
        """Return the shares of hopeless and of other questions that are told that nothing fits."""
        pairs = list(zip(self.questions, self.answers, strict=True))
        rightly = [not answer.confident for one, answer in pairs if not one.relevant]
        wrongly = [not answer.confident for one, answer in pairs if one.relevant]
        return f"{statistics.fmean(rightly):.2f} / {statistics.fmean(wrongly):.2f}" if rightly else ""

    def error(self) -> str:
        """Return the expected calibration error, and what it would be by chance if every score were right."""
        draw = random.Random(1)
        scores = [score for score, _ in self.scored]
        drawn = [calibration_error([(p, draw.random() < p) for p in scores]) or 0.0 for _ in range(_DRAWS)]
        return f"{calibration_error(self.scored) or 0.0:.2f} | {statistics.fmean(drawn):.2f}"

    def cells(self) -> str:
        """Return the cells of a row."""
        mean = mean_quality(self.qualities)
        values = (mean.hit_at_1, mean.recall_at_10, mean.ndcg_at_10)
        return " | ".join([*(f"{value:.3f}" for value in values), self.refused()])


Engines = Mapping[str, Engine]


def ways_of_asking() -> dict[str, list[Question]]:
    """Return the questions of each row: development, then held out, then those that parts of search were chosen by."""
    held = asked_by_people(TASKS / "held.jsonl")
    return {
        "development: people": asked_by_people(DEVELOPMENT),
        "development: an agent, few words": asked_in_shared_words("agent", "query"),
        "development: an agent, a sentence": asked_in_shared_words("sentence", "sentence"),
        "held out: people": held,
        "held out: an agent, few words": asked_by_agents(held, "held-few-words", phrasing="agent"),
        "held out: an agent, a sentence": asked_by_agents(held, "held-sentence-terms", phrasing="sentence"),
        "held out: an agent, the field's terms": asked_by_agents(held, "held-terms", phrasing="agent"),
        "held out: long texts": asked_by_people(TASKS / "long-held.jsonl", phrasing="long"),
        "eight languages": asked_by_people(TASKS / "languages.jsonl"),
        "typing mistakes": asked_by_people(TASKS / "typos.jsonl"),
        "to choose by: people, hard to put": asked_by_people(TASKS / "people-choose.jsonl"),
        "to choose by: eight languages": asked_by_people(TASKS / "languages-choose.jsonl"),
    }


def measure(asked: Mapping[str, Sequence[Question]]) -> dict[str, Measured]:
    """Return what the hub finds for each way of asking, with word vectors."""
    with _corpus_hub("local") as (hub, _, _):
        engine = _of_hub(hub)
        return {name: _ask(engine, questions) for name, questions in asked.items()}


def replace_table(name: str, lines: Sequence[str]) -> None:
    """Replace what docs/benchmarks.md has between the marks of that name, and print it."""
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, rest = _REPORT.read_text(encoding="utf-8").split(start)
    written = "\n".join(lines) + "\n"
    _REPORT.write_text(before + start + written + end + rest.split(end)[1], encoding="utf-8")
    print(written)


def main(model: str = "") -> None:
    """Measure and write."""
    asked = ways_of_asking()
    if model:
        with _corpus_hub("onnx", model) as (hub, _, _):
            engine = _of_hub(hub)
            print("\n".join(_encoder({way: _ask(engine, questions) for way, questions in asked.items()})))
        return
    with _corpus_hub("local") as (hub, index, embedder):
        # A search returns no skill that models may not choose: who may look among more finds more.
        findable = [skill for skill in hub.skills() if not skill.disable_model_invocation]
        skills = [(skill, read_instructions(skill)) for skill in findable]
        among = frozenset(skill.directory for skill, _ in skills)
        plain = SixtyLines(skills, meaning=0.0)
        engines: dict[str, Engine] = {
            "ours": _of_hub(hub),
            "sixty lines": lambda text: EngineAnswer(plain.search(text), True),
        }
        found: dict[str, dict[str, Measured]] = {}
        for name in ("lancedb", "words"):
            engine = make_baseline(name, index, among, embedder)
            found[name] = {way: _ask(engine, questions) for way, questions in asked.items()}
        for name, own in engines.items():
            found[name] = {way: _ask(own, questions) for way, questions in asked.items()}
    replace_table("quality", _quality(asked, found))


def _quality(asked: Mapping[str, Sequence[Question]], found: Mapping[str, Mapping[str, Measured]]) -> list[str]:
    columns = ("lancedb", "sixty lines", "words", "ours")
    titles = ("LanceDB's full text", "BM25F in 60 lines", "ours without vectors", "ours")
    lines = [f"| asked as | questions | {' | '.join(titles)} | refused |", f"|---|---|{'---|' * len(titles)}---|"]
    for way, questions in asked.items():
        if way.startswith("development"):
            continue  # The weights were fitted to these.
        cells = " | ".join(found[name][way].figures() for name in columns)
        answered = sum(bool(one.relevant) for one in questions)
        numbers = f"{answered} + {len(questions) - answered}"
        lines.append(f"| {way} | {numbers} | {cells} | {found['ours'][way].refused()} |")
    return lines


def _encoder(found: Mapping[str, Measured]) -> list[str]:
    lines = ["| asked as | a sentence encoder | refused | error | by chance | told |", "|---|---|---|---|---|---|"]
    for way, own in found.items():
        lines.append(f"| {way} | {own.figures()} | {own.refused()} | {own.error()} | {own.told()} |")
    return lines


@contextmanager
def _corpus_hub(provider: str, model: str = "") -> Iterator[tuple[SkillHub, SearchIndex, Embedder | None]]:
    with tempfile.TemporaryDirectory(prefix="skillhub-quality-") as scratch:
        corpus = SHARED / "corpus" / "skills"
        environment = {"SKILLS_DIR": str(corpus), "DB_PATH": f"{scratch}/db", "EMBEDDING_PROVIDER": provider}
        if model:
            environment["EMBEDDING_MODEL"] = model
        settings, _ = read_settings(environment)
        # Embeds before it answers, however slow the model is.
        hub = make_hub(settings, background=False)
        try:
            yield hub, searchable(hub, with_vectors=provider != "none"), choose_embedder(settings)
        finally:
            hub.close()


def searchable(hub: SkillHub, *, with_vectors: bool) -> SearchIndex:
    """Return the index, with all vectors where there are to be any."""
    end = time.monotonic() + _PATIENCE_SECONDS
    while True:
        index = hub.refresh().index
        if index is not None and not (with_vectors and index.lacks_vectors):
            return index
        if time.monotonic() > end:
            raise RuntimeError("the index has no vectors yet")
        time.sleep(0.1)


def _of_hub(hub: SkillHub) -> Engine:
    handles = {one.handle: one.skill.directory for one in hub.listed()}

    def search(text: str) -> EngineAnswer:
        answer = hub.search(text, limit=_DEPTH)
        found = []
        for hit in answer.hits:
            found += [hit.skill.directory, *(handles[copy] for copy in hit.copies if copy in handles)]
        return EngineAnswer(found, answer.confident, answer.hits[0].score if answer.hits else 0.0)

    return search


def _ask(engine: Callable[[str], EngineAnswer], questions: Sequence[Question]) -> Measured:
    ids = directory_ids(skill_paths())
    answers, seconds = [], []
    for one in questions:
        # Of this thread: what else the machine does is not the search's.
        start = time.thread_time()
        answer = engine(one.text)
        seconds.append(time.thread_time() - start)
        answers.append(answer._replace(found=[ids[os.path.realpath(directory)] for directory in answer.found]))
    return Measured(questions, answers, seconds)


if __name__ == "__main__":
    main(*sys.argv[1:])
