"""Run the measures, print them, and keep the results of a full run in docs/benchmarks.md."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version
from pathlib import Path

_ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(_ROOT))

from bench.measures import MEASURES, Outcome, measure  # noqa: E402 - the project's root comes first

_REPORT = _ROOT / "docs" / "benchmarks.md"
_BETWEEN = ("<!-- results -->\n", "<!-- end of results -->")


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in MEASURES]
    if unknown:
        print(f"error: no measure is named {unknown[0]!r}\n\nhint: {', '.join(MEASURES)}", file=sys.stderr)
        return 2
    outcomes = []
    for name in names or MEASURES:
        for outcome in measure(name):
            outcomes.append(outcome)
            verdict = "kept" if outcome.kept else "BROKEN"
            bound = f"{outcome.measured:>9.2f} <= {outcome.bound:g}"
            print(f"{verdict:<7}{bound}  {outcome.promise}: {outcome.figures}", flush=True)
    if not names:
        _write_report(outcomes)
    return 0 if all(outcome.kept for outcome in outcomes) else 1


def _write_report(outcomes: list[Outcome]) -> None:
    versions = ", ".join(f"{name} {version(name)}" for name in ("fastmcp", "lancedb", "pyarrow"))
    lines = [
        f"Python {platform.python_version()} on {platform.system()}, {versions}.",
        "",
        "| promise | figures | measured | bound |",
        "|---|---|---|---|",
        *(f"| {o.promise} | {o.figures} | {o.measured:,.2f} | {o.bound:,g} |" for o in outcomes),
        "",
    ]
    before, rest = _REPORT.read_text(encoding="utf-8").split(_BETWEEN[0])
    after = rest.split(_BETWEEN[1])[1]
    _REPORT.write_text(before + _BETWEEN[0] + "\n".join(lines) + _BETWEEN[1] + after, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
