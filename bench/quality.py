"""How well search finds the right skill: writes the tables of docs/benchmarks.md, from the judged queries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[1]
_SHARED = _ROOT.parent / "shared"
_REPORT = _ROOT / "docs" / "benchmarks.md"
_BETWEEN = ("<!-- quality -->\n", "<!-- end of quality -->")
_BASELINES = (
    "words",
    "without body",
    "without translations",
    "without synonyms",
    "without spelling",
    "without phrases",
    "without meaning",
    "bm25f alone",
    "lancedb",
    "fts5",
)
_THRESHOLDS = (0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7)


def main() -> None:
    """Measure and write."""
    options = [part for name in _BASELINES for part in ("--baseline", name)]
    engines = _evaluated(options)
    written = "\n".join([*_table(engines), "", *_kinds(engines[:2]), "", *_curve(), ""])
    before, rest = _REPORT.read_text(encoding="utf-8").split(_BETWEEN[0])
    after = rest.split(_BETWEEN[1])[1]
    _REPORT.write_text(before + _BETWEEN[0] + written + _BETWEEN[1] + after, encoding="utf-8")
    print(written)


def _evaluated(options: Sequence[str], **environment: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "skillhub_mcp", "eval", "run", str(_SHARED / "eval" / "queries.jsonl")),
            *("--skills-dir", str(_SHARED / "corpus" / "skills"), "--json", *options),
        ],
        env={**os.environ, "EMBEDDING_PROVIDER": "local", **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    engines: list[dict[str, Any]] = json.loads(done.stdout)["engines"]
    return engines


def _table(engines: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = ["| engine | Hit@1 | R@5 | R@10 | MRR@10 | nDCG@10 | 19 of 20 | p50 |", "|---|---|---|---|---|---|---|---|"]
    for engine in engines:
        means = " | ".join(f"{value:.3f}" for value in engine["mean"].values())
        low, high = engine["intervals"]["ndcg_at_10"]
        name = "skillhub, with word vectors" if engine is engines[0] else engine["engine"]
        lines.append(f"| {name} | {means} | {low:.3f}–{high:.3f} | {engine['median_milliseconds']:.1f} ms |")
    return lines


def _kinds(engines: Sequence[Mapping[str, Any]]) -> list[str]:
    kinds = list(engines[0]["kinds"])
    lines = [f"| nDCG@10 | {' | '.join(kinds)} |", f"|---{'|---' * len(kinds)}|"]
    for engine in engines:
        values = " | ".join(f"{engine['kinds'][kind]['ndcg_at_10']:.3f}" for kind in kinds)
        lines.append(f"| {engine['engine']} | {values} |")
    return lines


def _curve() -> list[str]:
    lines = ["| `SEARCH_CONFIDENCE` | rightly refused | wrongly refused |", "|---|---|---|"]
    for threshold in _THRESHOLDS:
        (engine,) = _evaluated([], SEARCH_CONFIDENCE=str(threshold), EMBEDDING_PROVIDER="none")
        lines.append(f"| {threshold} | {engine['refused']:.0%} | {engine['refused_wrongly']:.1%} |")
    return lines


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="skillhub-quality-") as home:
        os.environ["HOME"] = home
        main()
