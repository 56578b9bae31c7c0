"""`skillhub demo`: one task as an agent would do it, with the cost of each step.

It starts the real server over stdio, as a client would, with a temporary database.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from skillhub_mcp._util.tempdir import scratch_directory
from skillhub_mcp._util.wording import plural
from skillhub_mcp.cli.arguments import decode_argument
from skillhub_mcp.cli.console import columns, one_line, print_line, print_text, terminal_progress
from skillhub_mcp.cli.found_skills import found_skills
from skillhub_mcp.cli.log_format import log_to_stderr
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, print_json
from skillhub_mcp.diagnosis.installed_command import lasting_command
from skillhub_mcp.disclosure.catalogue import estimate_tokens
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.settings import read_settings, settings_of
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.roots import builtin_directory, make_roots
from skillhub_mcp.skills.scanner import read_snapshot

DEFAULT_TASK = "extract the invoice number from a PDF"

_SHOWN_LINES = 4
_BAR = 30
_PURPOSES = {
    "tools/list": "The agent sees three tools",
    "search_skills": "It searches for the task",
    "load_skill": "It loads the best match",
    "read_skill_file": "It reads a file that the skill names",
}
# The demo sends no request and prints its own steps only, whatever the user's settings are.
_SET_FOR_THE_DEMO = {
    "EMBEDDING_PROVIDER": "none",
    "SKILLHUB_LOG_LEVEL": "ERROR",
    "SKILLHUB_ERROR_STYLE": "result",
    "SKILLHUB_USAGE": "off",
    # A replica has no examples.
    "SKILLHUB_READ_ONLY": "0",
    "SKILLHUB_SKIP_AUTO_REINDEX": "0",
}
# The user's filters are for their own skills, not for the examples.
_UNFILTERED = {"SKILLHUB_ENABLED_SKILLS": "", "SKILLHUB_ENABLED_CATEGORIES": ""}
# A path in a skill's body: directories, then a file name with an extension.
_MENTIONED_FILE = re.compile(r"(?<![\w/.:-])((?:[\w-]+/)+[\w-]+\.[A-Za-z0-9]+)")


class DemoStep(NamedTuple):
    """One call with its arguments, and its result as shown."""

    call: str
    seen: str
    milliseconds: float
    tokens: int


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("task", nargs="*", metavar="WORD", help=f"task (default: {DEFAULT_TASK})")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Start a real server over stdio, then search for, load and read a skill as an agent would."""
    own = options.get("SKILLS_DIR")
    environment = {**os.environ, **_SET_FOR_THE_DEMO, **({} if own else _UNFILTERED)}
    environment["SKILLS_DIR"] = own or builtin_directory()
    task = decode_argument(" ".join(args.task)).strip() or DEFAULT_TASK
    log_to_stderr("ERROR")
    with scratch_directory("demo") as scratch:
        environment["SKILLHUB_DB_PATH"] = str(Path(scratch, "skills.lancedb"))
        settings, _ = read_settings(environment)
        with terminal_progress("asking a server over stdio"):
            steps = asyncio.run(_walk(task, environment))
    skills = read_snapshot(make_roots(settings.skills.dirs)).skills
    texts = (Path(skill.directory, SKILL_FILE).read_text(encoding="utf-8", errors="replace") for skill in skills)
    upfront, tokens, after = sum(map(estimate_tokens, texts)), sum(step.tokens for step in steps), next_steps(options)
    if args.json:
        costs = {"skills": len(skills), "upfront_tokens": upfront, "tokens": tokens}
        following = [{"command": command, "what": what} for command, what in after.items()]
        print_json({"task": task, "steps": [step._asdict() for step in steps], **costs, "next": following})
    else:
        _print(task, steps)
        print_text(f"\nThe agent read about {tokens:,} tokens.")
        print_text(f"All {len(skills):,} skills in full would have cost about {upfront:,}.")
        share = tokens / max(upfront, 1)
        filled = min(round(share * _BAR), _BAR)
        print_line(("━" * filled, "green"), ("━" * (_BAR - filled), "dim"), f" {share:.0%}")
        print_line("")
        print_line(("Next, on this machine", "bold"))
        width = max(map(len, after))
        for command, what in after.items():
            print_line("  ", (f"{command:<{width}}", "cyan"), f"   {what}")
    return EXIT_OK if any(step.call.startswith("load_skill") for step in steps) else EXIT_FAILED


def next_steps(options: Mapping[str, str]) -> dict[str, str]:
    """Return the commands to type next on this machine, with what each does here. Raises InvalidSetting."""
    settings = settings_of({name: value for name, value in options.items() if name == "SKILLHUB_CWD"})
    own, found = found_skills(settings)
    if found:
        steps = {"roots add --all": f"serves the {plural(sum(one.skills for one in found), 'skill')} found here"}
    elif own:
        steps = {"pick": f"searches your {plural(own, 'skill')}"}
    else:
        steps = {"add SOURCE": "installs skills of a directory, a repository or a site"}
        steps["new my-first-skill"] = "writes a skill of yours"
    steps["connect --all"] = "lets the clients that are installed use them"
    # A program that PATH does not find is called by its path.
    called, program = sys.argv[0], "skillhub"
    if not shutil.which(program) and os.path.basename(called) == program and os.path.isfile(called):
        program = min(called, os.path.relpath(called), key=len)
    return {f"{program} {words}": what for words, what in steps.items()}


async def _walk(task: str, environment: dict[str, str]) -> list[DemoStep]:
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    command, *words = lasting_command()
    transport = StdioTransport(
        command=command, args=[*words, "--transport", "stdio"], env=environment, keep_alive=False
    )
    steps = []

    def add(call: str, seen: str, start: float, written: str) -> None:
        steps.append(DemoStep(call, seen, (time.perf_counter() - start) * 1000, estimate_tokens(written)))

    async with Client(transport) as client:
        start = time.perf_counter()
        tools = await client.list_tools()
        written = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
        add("tools/list", ", ".join(tool.name for tool in tools), start, json.dumps(written))

        async def call(tool: str, show: Callable[[Any], str], **arguments: str) -> Any:
            start = time.perf_counter()
            result = await client.call_tool(tool, arguments, raise_on_error=False)
            text = str(getattr(result.content[0], "text", ""))
            if result.is_error:
                raise SkillHubError(f"{tool} failed: {text}")
            answer = json.loads(text)
            typed = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
            add(f"{tool}({typed})", show(answer), start, text)
            return answer

        hits = await call("search_skills", _hits_text, query=task)
        if hits["skills"]:
            name = hits["skills"][0]["name"]
            loaded = await call("load_skill", lambda skill: _first_lines(skill["instructions"]), skill_name=name)
            if file := _file_to_read(loaded):
                await call(
                    "read_skill_file", lambda read: _first_lines(read["content"]), skill_name=name, file_path=file
                )
    return steps


def _file_to_read(loaded: Any) -> str | None:
    """Return the first file that the instructions mention, preferring files other than scripts, which are run."""
    mentioned = _MENTIONED_FILE.findall(loaded["instructions"])
    present = [file for file in mentioned if (Path(loaded["path"]) / file).is_file()]
    return next((file for file in present if not file.startswith("scripts/")), next(iter(present), None))


def _hits_text(hits: Any) -> str:
    if not hits["skills"]:
        return str(hits["note"])
    return "\n".join(
        f"{hit['score']:.2f}  {hit['name']}: {one_line(hit['description'], width=None)}" for hit in hits["skills"][:3]
    )


def _first_lines(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    more = [f"… {len(lines) - _SHOWN_LINES} more lines"] if len(lines) > _SHOWN_LINES else []
    return "\n".join([*(one_line(line, width=None) for line in lines[:_SHOWN_LINES]), *more])


def _print(task: str, steps: Sequence[DemoStep]) -> None:
    print_line(("task  ", "dim"), (task, "bold"))
    width = columns()
    for number, step in enumerate(steps, start=1):
        tool = step.call.partition("(")[0]
        print_line("")
        cost = f"  {step.milliseconds:,.0f} ms, about {step.tokens:,} tokens"
        print_line((f"{number}  {_PURPOSES[tool]}", "bold cyan"), (cost, "dim"))
        if tool != step.call:
            print_line("   ", (one_line(step.call, width=width - 3), "green"))
        for line in step.seen.splitlines():
            print_line("   ", ("│ ", "dim"), one_line(line, width=width - 5))
