"""Run queries against the hub and the baselines, and time each query."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.evaluation.baselines import Engine, EngineAnswer, make_baseline
from skillhub_mcp.evaluation.queries import JudgedQuery
from skillhub_mcp.evaluation.report import Report, build_report

if TYPE_CHECKING:
    from skillhub_mcp.embedders.base import Embedder
    from skillhub_mcp.hub import SkillHub
    from skillhub_mcp.index.progress import ProgressCallback

_DEPTH = 10
_WARMUP_QUERIES = 3


def evaluate(
    hub: SkillHub,
    queries: Sequence[JudgedQuery],
    relevant: Sequence[frozenset[str]],
    *,
    baselines: Sequence[str],
    embedder: Embedder | None,
    progress: ProgressCallback,
) -> list[Report]:
    """Return the reports of `hub` and the `baselines`; `relevant` are directories. Raises IndexUnavailable."""
    directories = {one.handle: one.skill.directory for one in hub.listed()}

    def search_hub(text: str) -> EngineAnswer:
        answer = hub.search(text, limit=_DEPTH)
        found = []
        for hit in answer.hits:
            # A copy is as relevant as its original.
            copies = (directories.get(copy) for copy in hit.copies)
            found += [hit.skill.directory, *(copy for copy in copies if copy is not None)]
        return EngineAnswer(found, answer.confident, answer.hits[0].score if answer.hits else 0.0)

    def measure(name: str, engine: Engine) -> Report:
        for query in queries[:_WARMUP_QUERIES]:
            engine(query.text)
        answers = []
        for number, query in enumerate(queries):
            progress(name, number, len(queries))
            start = time.perf_counter()
            answer = engine(query.text)
            answers.append((answer, time.perf_counter() - start))
        progress(name, len(queries), len(queries))
        return build_report(name, queries, relevant, answers)

    reports = [measure("skillhub", search_hub)]
    if not baselines:
        return reports
    view = hub.refresh()
    if view.index is None:
        raise view.problem or IndexUnavailable(
            "There is no index to evaluate the baselines on", hint="run skillhub --reindex"
        )
    among = frozenset(skill.directory for skill in hub.skills() if not skill.disable_model_invocation)
    engines = ((name, make_baseline(name, view.index, among, embedder)) for name in baselines)
    return [*reports, *(measure(*one) for one in engines)]
