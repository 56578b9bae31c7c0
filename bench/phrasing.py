"""What agents write into `query` under several wordings of the tool, and what is found for it.

`python -m bench.phrasing ask DIRECTORY` writes one prompt for each wording of `phrasing/wordings.json`, and the tasks.
An agent that sees nothing else writes `phrasing/answers/WORDING.jsonl`. `python -m bench.phrasing` asks the hub those
questions and renews the table of docs/benchmarks.md.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
from dataclasses import replace
from pathlib import Path

from bench.judged import ANSWERS, DEVELOPMENT, ROOT, TASKS, Question, asked_by_agents, asked_by_people
from bench.quality import Measured, measure

from skillhub_mcp.evaluation.measures import mean_quality

_PHRASING = ROOT / "bench" / "phrasing"
_TOOLS = ROOT / "tests" / "golden" / "tools"
_SHOWN_TOOLS = ("search_skills", "load_skill", "read_skill_file")


def tasks() -> list[Question]:
    """Return the tasks of the experiment, as people put them."""
    return [*asked_by_people(DEVELOPMENT), *asked_by_people(TASKS / "fit.jsonl")]


def write_prompts(directory: Path) -> None:
    """Write the prompts and the tasks, in an order that tells nothing."""
    directory.mkdir(parents=True, exist_ok=True)
    template = (_PHRASING / "prompt.md").read_text(encoding="utf-8")
    for wording in json.loads((_PHRASING / "wordings.json").read_text(encoding="utf-8")):
        tools = [json.loads((_TOOLS / f"{name}.json").read_text(encoding="utf-8")) for name in _SHOWN_TOOLS]
        for tool in tools:
            tool.pop("outputSchema", None)
        tools[0]["inputSchema"]["properties"]["query"]["description"] = wording["query"]
        prompt = template.replace("{tools}", json.dumps(tools, indent=1))
        (directory / f"{wording['id']}.md").write_text(prompt, encoding="utf-8")
    asked = tasks()
    random.Random(5).shuffle(asked)
    lines = (json.dumps({"id": one.task, "task": one.text}, ensure_ascii=False) for one in asked)
    (directory / "tasks.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Write prompts, or measure the answers."""
    if sys.argv[1:2] == ["ask"]:
        write_prompts(Path(sys.argv[2]))
        return
    people = tasks()
    asked = {"the person's own words": people}
    wordings = json.loads((_PHRASING / "wordings.json").read_text(encoding="utf-8"))
    for wording in wordings:
        if (ANSWERS / f"{wording['id']}.jsonl").exists():
            asked[wording["query"]] = asked_by_agents(people, wording["id"], phrasing="agent")
    found = measure(asked)
    lines = [
        "| the argument's text | words | Hit@1 | R@10 | nDCG@10 | refused where 95 % are kept |",
        "|---|---|---|---|---|---|",
        *(_line(name, asked[name], found[name]) for name in asked),
    ]
    print("\n".join([*lines, "", *_second_tries(people)]))


def _second_tries(people: list[Question]) -> list[str]:
    """Return what one more try gave where the first, in the person's own words, was not confident."""
    said = {one.task: one for one in asked_by_agents(people, "verbatim", phrasing="people")}
    rows = [json.loads(line) for line in (ANSWERS / "second-try.jsonl").read_text(encoding="utf-8").splitlines()]
    first = [said[row["id"]] for row in rows]
    second = [replace(one, text=row["query"] or one.text) for one, row in zip(first, rows, strict=True)]
    found = measure({"first": first, "second": second})
    titles = ("try", "tasks with an answer", "first hit right", "nDCG@10", "hopeless ones refused or given up")
    lines = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    for name, own in found.items():
        mean = mean_quality(own.qualities)
        # An agent that writes no second query goes on without a skill.
        kept = [
            not answer.confident or (name == "second" and not row["query"])
            for one, answer, row in zip(own.questions, own.answers, rows, strict=True)
            if not one.relevant
        ]
        right = f"{mean.hit_at_1:.2f} | {mean.ndcg_at_10:.2f}"
        lines.append(f"| {name} | {len(own.qualities)} | {right} | {sum(kept)} of {len(kept)} |")
    return lines


def _line(name: str, questions: list[Question], found: Measured) -> str:
    words = statistics.median(len(one.text.split()) for one in questions)
    return f"| {name} | {words:.0f} | {found.cells()} |"


if __name__ == "__main__":
    main()
