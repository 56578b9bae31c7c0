"""The text of a new skill's files. `validate` accepts them once each [TODO: ...] is replaced."""

from __future__ import annotations

import re
from collections.abc import Mapping

import yaml

from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.validation.advice import description_advice

SCRIPT = "scripts/run.py"
REFERENCE = "references/details.md"

_BODY = """\
# {title}

[TODO: say in a sentence what the agent has in the end.]

## Steps

{steps}

## Pitfalls

- [TODO: what goes wrong most often, how to notice it, and what to do then.]

## The answer

[TODO: the form in which the result is given, with a short example.]
"""
_STEPS = (
    "Look at what was given. Ask where something is missing that cannot be guessed.",
    "[TODO: the work, one step a line, with the decisions that are not obvious.]",
)
_SCRIPT_STEP = "Run the script. `--help` lists its options:\n\n   ```\n   python {script} /path/to/input\n   ```\n"
_REFERENCE_STEP = "Where a case is unusual, read [the details]({reference}); otherwise leave them unread."
_LAST_STEP = "Check the result, and say how it was checked."
_SCRIPT_TEXT = '''\
"""Count the lines of a text. Replace this by what the skill needs.

Only the standard library is used, so that it runs wherever Python is.
"""

import argparse
import sys
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input", help="file to read, or - for standard input")
    args = parser.parse_args()
    try:
        text = sys.stdin.read() if args.input == "-" else Path(args.input).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        print(f"{args.input} cannot be read: {error}", file=sys.stderr)
        return 1
    print(f"{len(text.splitlines())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
'''
_REFERENCE_TEXT = """\
# {title}: details

What only some tasks need: tables, special cases, long examples. An agent reads this file only where the steps name it.
"""
_HEADER = re.compile(r"\A(---[ \t]*\r?\n)(.*?)(^---[ \t]*$)", re.DOTALL | re.MULTILINE)


def described(description: str, name: str) -> str:
    """Return a description of one line that says when the skill is used, completed with the words of its `name`."""
    words = name.replace("-", " ")
    flat = " ".join(description.split()) or f"Help with {words}."
    if says_when(flat):
        return flat
    end = "" if flat.endswith((".", "!", "?", "。")) else "."
    return f"{flat}{end} Use when a task is about {words}."


def says_when(description: str) -> bool:
    """Whether a description says when to use the skill, as `validate` reads it."""
    return not any(description_advice(description, None))


def draft_files(name: str, description: str, *, script: bool, reference: bool) -> Mapping[str, str]:
    """Return the texts of a new skill by relative path; SKILL.md names the other files."""
    title = name.replace("-", " ").capitalize()
    steps = [
        *_STEPS,
        *([_SCRIPT_STEP.format(script=SCRIPT)] if script else []),
        *([_REFERENCE_STEP.format(reference=REFERENCE)] if reference else []),
        _LAST_STEP,
    ]
    numbered = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))
    header = _yaml({"name": name, "description": description})
    files = {SKILL_FILE: f"---\n{header}---\n{_BODY.format(title=title, steps=numbered)}"}
    if script:
        files[SCRIPT] = _SCRIPT_TEXT
    if reference:
        files[REFERENCE] = _REFERENCE_TEXT.format(title=title)
    return files


def renamed(text: str, name: str, description: str | None) -> str:
    """Return the SKILL.md of an example with another name and, if one is given, another description."""
    header = _HEADER.match(text)
    if header is None:
        raise ValueError("the example has no frontmatter")
    own = {"name": name} | ({} if description is None else {"description": description})
    replaced = tuple(f"{key}:" for key in own)
    kept = [line for line in header[2].splitlines(keepends=True) if not line.startswith(replaced)]
    return f"{header[1]}{_yaml(own)}{''.join(kept)}{text[header.start(3) :]}"


def _yaml(values: Mapping[str, str]) -> str:
    return str(yaml.safe_dump(dict(values), allow_unicode=True, width=float("inf"), sort_keys=False))
