"""Recall of the audit on hostile skills, and false alarms on real ones, beside another scanner in the same run.

    python bench/audit.py [--corpus DIR] [--other PATH/TO/skill-scanner] [--write]

The other scanner is cisco-ai-skill-scanner in an environment of its own, with its static and behavioural analysers
only, and without network: `python -m venv V && V/bin/pip install cisco-ai-skill-scanner`. `--write` puts the figures
into `hostile/results.json`, from which the guide's table is made.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.hostile_skills import RESULTS, by_pattern, read_table

from skillhub_mcp.auditing.audit import audit_skill
from skillhub_mcp.auditing.names import look_alikes

# What a look-alike looks like: without them there is nothing to be taken for.
KNOWN = ("code-review", "commit-helper")
SEVERITIES = ("critical", "high", "medium", "low", "none")
WARNED = ("critical", "high")


def ours(directories: Mapping[str, Path]) -> dict[str, str]:
    """Return the worst severity of each skill, by its key."""
    worst = {}
    for key, directory in directories.items():
        audit = audit_skill(str(directory))
        alike = look_alikes({f"/{name}": name for name in KNOWN} | {audit.path: audit.name})
        found = sorted((*audit.findings, *alike.get(audit.path, ())), key=lambda one: one.severity.rank)
        worst[key] = found[0].severity.value if found else "none"
    return worst


def theirs(scanner: str, below: Path, directories: Mapping[str, Path]) -> dict[str, str]:
    """Return the same by the other scanner, which looks at every skill below a directory."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.json")
        subprocess.run(
            [scanner, "scan-all", str(below), "--recursive", "--use-behavioral", "--compact", "--format", "json",
             "--output-json", str(report)],
            env={"PATH": "/usr/bin:/bin", "HOME": scratch},
            stdout=subprocess.DEVNULL,
            check=False,
        )  # fmt: skip
        results = json.loads(report.read_text(encoding="utf-8"))["results"]
    found = {str(Path(one["skill_path"]).resolve()): one for one in results}
    worst = {}
    for key, directory in directories.items():
        one = found.get(str(directory.resolve()))
        severities = {finding["severity"].lower() for finding in one["findings"]} if one else set()
        worst[key] = next((severity for severity in SEVERITIES if severity in severities), "none")
    return worst


def recall(skills: Mapping[str, str]) -> dict[str, int]:
    """Return how many skills have a finding that is shown to an agent, and how many a critical one."""
    return {
        "skills": len(skills),
        "warned": sum(severity in WARNED for severity in skills.values()),
        "critical": sum(severity == "critical" for severity in skills.values()),
    }


def measure(table: str, scanner: str) -> dict[str, object]:
    """Return recall per pattern of one table."""
    with tempfile.TemporaryDirectory() as scratch:
        below = Path(scratch)
        skills = read_table(table)
        directories = {f"{one.pattern}/{one.case}": one.write(below) for one in skills}
        tools = {"skillhub": ours(directories)} | ({"other": theirs(scanner, below, directories)} if scanner else {})
        return {
            pattern: {
                name: recall({f"{pattern}/{one.case}": worst[f"{pattern}/{one.case}"] for one in own})
                for name, worst in tools.items()
            }
            for pattern, own in by_pattern(skills).items()
        }


def worst_of(table: str, scanner: str) -> dict[str, object]:
    """Return how many skills of one table each tool gives which severity at worst."""
    with tempfile.TemporaryDirectory() as scratch:
        directories = {f"{one.pattern}/{one.case}": one.write(Path(scratch)) for one in read_table(table)}
        return counted(Path(scratch), directories, scanner)


def false_alarms(corpus: Path, scanner: str) -> dict[str, object]:
    """Return how many real skills each tool gives which severity at worst."""
    directories = {str(file.parent): file.parent for file in sorted(corpus.rglob("SKILL.md"))}
    return counted(corpus, directories, scanner)


def counted(below: Path, directories: Mapping[str, Path], scanner: str) -> dict[str, object]:
    """Return how many of the skills in `directories`, all of them `below` one, each tool gives which severity."""
    tools = {"skillhub": ours(directories)} | ({"other": theirs(scanner, below, directories)} if scanner else {})
    counts = {name: Counter(worst.values()) for name, worst in tools.items()}
    return {
        name: {"skills": len(directories), **{severity: own[severity] for severity in SEVERITIES}}
        for name, own in counts.items()
    }


def version_of(scanner: str) -> str:
    """Return the version that the other scanner says it has."""
    done = subprocess.run([scanner, "--version"], capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).strip().split("\n")[-1]


def main() -> None:
    """Measure, print, and perhaps write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", type=Path, default=Path(__file__).parents[2] / "shared" / "corpus" / "skills")
    parser.add_argument("--other", default="", metavar="SCANNER")
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    figures: dict[str, object] = {
        "other": f"cisco-ai-skill-scanner {version_of(chosen.other).split()[-1]}" if chosen.other else "",
        "held-out": measure("held-out", chosen.other),
        "tuned": measure("tuned", chosen.other),
        "another-hand": measure("another-hand", chosen.other),
        "another-hand-benign": worst_of("another-hand-benign", chosen.other),
        # Measured once, before any rule was changed for it: it can only be kept.
        "blind": json.loads(RESULTS.read_text(encoding="utf-8"))["blind"],
    }
    if chosen.corpus.is_dir():
        figures["real"] = false_alarms(chosen.corpus, chosen.other)
    text = json.dumps(figures, indent=1) + "\n"
    print(text, end="")
    if chosen.write:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
