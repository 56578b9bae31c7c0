"""Whether an agent chooses the right skill as often from a short reply as from one with every description in full.

    python bench/choosing.py write    # the replies to 60 tasks in both forms, as prompts for agents, and the key
    python bench/choosing.py score    # what the agents chose, by form

An agent gets one prompt file and nothing else, and writes what it would load: `choosing/README.md` has the format.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillhub_mcp.hub import SearchAnswer, SkillHub

_ROOT = Path(__file__).parents[1]
_SHARED = (_ROOT.parent / "shared").resolve()
_PLACE = _ROOT / "bench" / "choosing"
_KEY = _PLACE / "key.jsonl"
_FORMS = ("full", "short")
_TASKS, _FILES = 60, 2
# How a task is asked: as its person put it, and as an agent does, in a few words and in a sentence.
_PHRASINGS = ("text", "query", "sentence")

_PROMPT = """# Which skill would you load?

You are an agent. For each task below you called `search_skills`, whose tool text says: "Returns names, descriptions,
scores, best first; from 0.5 on one fits: call load_skill with its name. Else go on without." Its reply is all that you
know of the skills.

For each task write one line to the answers file that you were given, the name of the skill that you would load now, as
the reply has it, or `null` where you would go on without one:

    {"task": "t00", "load": "name-of-the-skill"}

Read no other file, search nothing, and judge each task by itself.
"""


def main(arguments: Sequence[str]) -> int:
    if arguments == ["write"]:
        _write()
    elif arguments == ["score"]:
        print("\n".join(_scores()))
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


def _write() -> None:
    from skillhub_mcp.bootstrap.hub import make_hub
    from skillhub_mcp.settings import read_settings

    queries = {one["id"]: one for one in _lines(_SHARED / "eval" / "queries.jsonl")}
    phrased = {one["id"]: {**queries[one["id"]], **one} for one in _lines(_SHARED / "eval" / "agent_queries.jsonl")}
    # In an order, and under names, that do not tell which of them nothing fits.
    chosen = random.Random(17).sample(sorted(phrased), _TASKS)
    with tempfile.TemporaryDirectory(prefix="skillhub-choosing-") as home:
        os.environ["HOME"] = home
        settings, _ = read_settings(
            {
                "HOME": home,
                "SKILLS_DIR": str(_SHARED / "corpus" / "skills"),
                "DB_PATH": str(Path(home, "db", "skills.lancedb")),
                "EMBEDDING_PROVIDER": "local",
            }
        )
        hub = make_hub(settings)
        try:
            hub.refresh()
            told = [
                _task(hub, f"t{number:02}", phrased[name], _PHRASINGS[number % len(_PHRASINGS)])
                for number, name in enumerate(chosen, start=1)
            ]
        finally:
            hub.close()
    each = _TASKS // _FILES
    for form in _FORMS:
        for number in range(_FILES):
            sections = (prompts[form] for _, prompts in told[number * each : (number + 1) * each])
            (_PLACE / f"{form}-{number + 1}.md").write_text("\n".join([_PROMPT, *sections]), encoding="utf-8")
    _KEY.write_text("".join(json.dumps(key, ensure_ascii=False) + "\n" for key, _ in told), encoding="utf-8")


def _task(hub: SkillHub, label: str, task: Mapping[str, Any], phrasing: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the key of a task, and by form the section of a prompt that has the task and the reply."""
    from skillhub_mcp.server.tools.results import compact_json, search_result

    answer = hub.search(task[phrasing])
    replies = {"full": _in_full(answer), "short": search_result(answer, every=False)}
    texts = {form: compact_json(reply) for form, reply in replies.items()}
    sections = {
        form: f"## {label}\n\nThe task: {task['text']}\n\nYou searched for: {task[phrasing]}\n\n```json\n{text}\n```\n"
        for form, text in texts.items()
    }
    key: dict[str, Any] = {
        "task": label,
        "id": task["id"],
        "phrasing": phrasing,
        "relevant": _handles(hub, task["relevant"]),
    }
    for form, reply in replies.items():
        skills: Any = reply["skills"]
        key[form] = {"names": [hit["name"] for hit in skills], "bytes": len(texts[form].encode())}
    return key, sections


def _in_full(answer: SearchAnswer) -> dict[str, object]:
    """Return the reply as it was before: every hit, each with all of its description and what it was found by."""
    from skillhub_mcp.disclosure.hits import descriptions
    from skillhub_mcp.server.tools.results import search_result

    reply = search_result(answer)
    skills: Any = reply["skills"]
    texts = descriptions([hit.skill.description for hit in answer.hits], whole=len(answer.hits))
    for shown, hit, text in zip(skills, answer.hits, texts, strict=True):
        shown |= {"description": text, "score": round(hit.score, 4), "reason": hit.why}
    return reply


def _handles(hub: SkillHub, relevant: Mapping[str, int]) -> list[str]:
    places = {
        one["id"]: os.path.dirname(one["path"])
        for one in _lines(_SHARED / "corpus" / "index.jsonl")
        if one["id"] in relevant
    }
    found = (hub.lookup.handle_of(str(_SHARED / "corpus" / place)) for place in places.values())
    return sorted(handle for handle in found if handle is not None)


def _scores() -> list[str]:
    key = {one["task"]: one for one in _lines(_KEY)}
    # What no reply has, nobody can choose: there the right choice is none, as where nothing fits at all.
    lines = [
        "| reply | tasks | right | wrong | none, though one was there | rightly none | p50 of a reply |",
        "|---|---|---|---|---|---|---|",
    ]
    for form in _FORMS:
        files = {path.name: _lines(path) for path in sorted(_PLACE.glob(f"{form}-*.answers*.jsonl"))}
        lines += [_score(name, form, answers, key) for name, answers in files.items()]
        lines.append(_score(f"{form}, all", form, [one for answers in files.values() for one in answers], key))
    return lines


def _score(name: str, form: str, answers: Sequence[Mapping[str, Any]], key: Mapping[str, Any]) -> str:
    right = wrong = missed = rightly_none = answerable = 0
    for one in answers:
        task, load = key[one["task"]], one["load"]
        there = {*task["relevant"]} & {*task["full"]["names"]}
        answerable += bool(there)
        if load is None:
            missed += bool(there)
            rightly_none += not there
        elif load in task["relevant"]:
            right += 1
        else:
            wrong += 1
    sizes = [task[form]["bytes"] for task in key.values()]
    hopeless = len(answers) - answerable
    return (
        f"| {name} | {len(answers)} | {right} of {answerable} | {wrong} | {missed} | {rightly_none} of {hopeless} | "
        f"{statistics.median(sizes):,.0f} bytes |"
    )


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
