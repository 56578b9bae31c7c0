"""Fits the coefficients of `search/likelihood.py` to judged questions, and prints how well they hold on tasks left out.

`python -m bench.calibrate [MODEL]` fits those for text alone and for word vectors and, with the model in the directory
MODEL, those for sentence encoders. Every phrasing of a task is left out together with it (ten folds), and people's
phrasing weighs as much as that of agents. Libraries of 20 and 200 skills weigh a third of the whole corpus.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from bench.judged import SHARED, Question, directory_ids, for_fitting, of_library, skill_paths, small_library
from bench.quality import searchable
from numpy.typing import NDArray

from skillhub_mcp.bootstrap.hub import choose_embedder, make_hub
from skillhub_mcp.evaluation.measures import calibration_error, refused_where_kept
from skillhub_mcp.search.likelihood import FEW_WORDS, Coefficients, Evidence, NearnessCoefficients, weighed
from skillhub_mcp.search.searcher import Searcher, SearchMode, SearchRequest
from skillhub_mcp.settings import read_settings

_LIKELIHOOD = Path(__file__).parents[1] / "src" / "skillhub_mcp" / "search" / "likelihood.py"
_SMALL = ((20, 16), (200, 6))
_FOLDS = 10
_RIDGE = 0.3
_SHARES = {"people": 3.0, "agent": 1.5, "sentence": 1.5, "long": 0.5}
_SMALL_SHARE = 0.3
_MOST_ASKED = 60


@dataclass(frozen=True)
class Seen:
    """One question and what a search found: the evidence for its first hit, and whether that is right."""

    question: Question
    skills: int
    evidence: Evidence
    right: bool


def main(model: str = "") -> None:
    """Fit, print and write."""
    _write("BY_TEXT = ", _coefficients(_seen("none")))
    _write("Meaning.WORDS: ", _coefficients(_seen("local")))
    if model:
        _write("Meaning.SENTENCES: ", _coefficients(_seen("onnx", model)))
        by_vectors = _seen("onnx", model, mode=SearchMode.VECTOR)
        _write("BY_NEARNESS = Nearness", _by_nearness([one for one in by_vectors if one.evidence.share < FEW_WORDS]))


def _by_nearness(seen: Sequence[Seen]) -> NearnessCoefficients:
    """Fit how likely a first hit is by its nearness, to questions that share hardly a word with it."""
    numbers = np.array([(one.evidence.nearness, 1.0) for one in seen])
    fitted = _fit(numbers, np.array([one.right for one in seen], dtype=float), np.ones(len(seen)))
    return NearnessCoefficients(*(round(one, 2) for one in fitted.tolist()))


def _coefficients(seen: Sequence[Seen]) -> Coefficients:
    """Fit, and print how well that holds on tasks left out."""
    wanted = np.array([one.right for one in seen], dtype=float)
    numbers = np.array([weighed(one.evidence) for one in seen])
    weights = _weights(seen)
    expected = np.zeros(len(seen))
    tasks = sorted({one.question.task for one in seen})
    np.random.default_rng(1).shuffle(tasks)
    for fold in range(_FOLDS):
        out = np.isin([one.question.task for one in seen], tasks[fold::_FOLDS])
        expected[out] = _probability(numbers[out], _fit(numbers[~out], wanted[~out], weights[~out]))
    _print(seen, expected)
    return Coefficients(*(round(one, 2) for one in _fit(numbers, wanted, weights).tolist()))


def _write(name: str, found: Coefficients | NearnessCoefficients) -> None:
    values = ", ".join(f"{name}={value}" for name, value in found._asdict().items())
    text = _LIKELIHOOD.read_text(encoding="utf-8")
    written = re.sub(rf"({re.escape(name)})Coefficients\(.*\)", rf"\1Coefficients({values})", text)
    _LIKELIHOOD.write_text(written, encoding="utf-8")
    print(name, found)


def _seen(provider: str, model: str = "", *, mode: SearchMode = SearchMode.AUTO) -> list[Seen]:
    questions = for_fitting()
    paths = skill_paths()
    ask = partial(_ask, provider, model, mode)
    found = ask(SHARED / "corpus" / "skills", directory_ids(paths), questions, skills=len(paths))
    short = [one for one in questions if one.phrasing != "long"]
    for size, times in _SMALL:
        for seed in range(times):
            with tempfile.TemporaryDirectory(prefix="skillhub-calibrate-") as scratch:
                placed = small_library(Path(scratch), short, size, seed=seed)
                asked = of_library(short, frozenset(placed), most=_MOST_ASKED, seed=seed)
                found += ask(Path(scratch), directory_ids(placed), asked, skills=size)
    return found


def _ask(
    provider: str,
    model: str,
    mode: SearchMode,
    root: Path,
    ids: dict[str, str],
    questions: Sequence[Question],
    *,
    skills: int,
) -> list[Seen]:
    with tempfile.TemporaryDirectory(prefix="skillhub-calibrate-") as scratch:
        environment = {"SKILLS_DIR": str(root), "DB_PATH": f"{scratch}/db", "EMBEDDING_PROVIDER": provider}
        if model:
            environment["EMBEDDING_MODEL"] = model
        settings, _ = read_settings(environment)
        # Embeds before it answers, however slow the model is.
        hub = make_hub(settings, background=False)
        try:
            searcher = Searcher(embedder=choose_embedder(settings), mode=mode)
            index = searchable(hub, with_vectors=provider != "none")
            among = frozenset(skill.directory for skill in hub.skills())
            seen = []
            for one in questions:
                result = searcher.search(index, SearchRequest(one.text, limit=40, among=among))
                if result.evidence is not None:
                    first = ids[os.path.realpath(result.hits[0].directory)]
                    seen.append(Seen(one, skills, result.evidence, first in one.relevant))
            return seen
        finally:
            hub.close()


def _weights(seen: Sequence[Seen]) -> NDArray[np.float64]:
    largest = max(one.skills for one in seen)
    groups = [(one.question.phrasing, one.skills) for one in seen]
    shares = {
        group: _SHARES[group[0]] * (1.0 if group[1] == largest else _SMALL_SHARE) / groups.count(group)
        for group in set(groups)
    }
    found = np.array([shares[group] for group in groups])
    weighed_up: NDArray[np.float64] = found * len(found) / found.sum()
    return weighed_up


def _fit(
    numbers: NDArray[np.float64], wanted: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the coefficients of a logistic regression with a small ridge, by Newton's method."""
    found = np.zeros(numbers.shape[1])
    ridge = np.diag([_RIDGE] * (len(found) - 1) + [0.0])
    for _ in range(50):
        expected = _probability(numbers, found)
        slope = numbers.T @ (weights * (expected - wanted)) + ridge @ found
        curve = (numbers * (weights * expected * (1.0 - expected))[:, None]).T @ numbers + ridge
        found -= np.linalg.solve(curve, slope)
    return found


def _probability(numbers: NDArray[np.float64], coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = 1.0 / (1.0 + np.exp(-numbers @ coefficients))
    return found


def _print(seen: Sequence[Seen], expected: NDArray[np.float64]) -> None:
    print("skills  phrasing  questions  right  error  refused where 95 % are kept")
    groups = sorted({(one.skills, one.question.phrasing) for one in seen})
    for group in groups:
        own = [
            (p, one)
            for p, one in zip(expected.tolist(), seen, strict=True)
            if (one.skills, one.question.phrasing) == group
        ]
        scored = [(p, one.right) for p, one in own]
        refused = refused_where_kept(
            [p for p, one in own if one.question.relevant], [p for p, one in own if not one.question.relevant]
        )
        right = sum(right for _, right in scored) / len(scored)
        told = "" if refused is None else f"{refused:.2f}"
        print(f"{group[0]:6} {group[1]:9} {len(own):10} {right:6.2f} {calibration_error(scored):6.2f}  {told}")


if __name__ == "__main__":
    main(*sys.argv[1:])
