"""`skillhub pick`: search by words, and print the name of the skill whose number is typed."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping, Sequence

from skillhub_mcp.cli.arguments import decode_argument
from skillhub_mcp.cli.console import ask, can_ask, columns, one_line, print_line, print_note
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    empty_exit_code,
    empty_json,
    listed_json,
    print_empty_result,
    print_json,
)
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.hub import MAX_LIMIT, ListedSkill, SkillHub
from skillhub_mcp.policy.access import Availability
from skillhub_mcp.skills.names import fold_name, typed_command
from skillhub_mcp.skills.roots import Source

EPILOG = "exit codes: 0 a skill was taken, 130 none was"
_LINES_AROUND = 4


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("typed", nargs="*", metavar="WORD", help="initial search text")
    parser.add_argument("--scope", choices=("all", "repo", "user"), default="all", help="repo is the project's skills")
    parser.add_argument("--list", action="store_true", help="print the skills that fit; needs no terminal")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Search for skills by words, and print the name of the one whose number you type. The list and the question are on
    stderr, so a shell can use the output.
    """
    typed = decode_argument(" ".join(args.typed))
    asking = not (args.list or args.json)
    if asking and not can_ask():
        hint = "skillhub pick --list WORDS prints the skills that fit, and skillhub search TASK those for a task"
        raise InvalidArgument("pick", "asks on a terminal, and stdin or stderr is redirected", hint=hint)
    with open_hub({**options, "SKILLHUB_USAGE": "off"}) as hub:
        listed = [one for one in hub.listed() if args.scope in ("all", _scope(one))]
        empty = None if hub.listed() else hub.why_nothing(for_models=False)
        if asking and empty is None:
            return _ask(hub, listed, typed)
        shown, fits = _fitting(hub, listed, typed)
    if args.json:
        counts = {"count": len(shown), "total": len(listed), "confident": fits}
        skills = [listed_json(one) | {"scope": _scope(one)} for one in shown]
        print_json({"skills": skills, **counts, **empty_json(empty)})
    elif empty is not None:
        print_empty_result(empty, to_stderr=asking)
    else:
        _print_skills(shown, len(listed), fits=fits)
    return EXIT_FAILED if asking else empty_exit_code(empty)


def _ask(hub: SkillHub, listed: Sequence[ListedSkill], typed: str) -> int:
    """Show what fits until a number, or nothing, is typed."""
    while True:
        shown, fits = _fitting(hub, listed, typed)
        _print_skills(shown, len(listed), fits=fits, asking=True)
        answer = (ask("number to take, words to search, Enter to leave:") or "").strip()
        if not answer:
            return EXIT_INTERRUPTED
        if not answer.isdecimal():
            typed = answer
        elif 1 <= int(answer) <= len(shown):
            chosen = shown[int(answer) - 1]
            if chosen.standing is not Availability.ON:
                why = typed_command("skillhub why", chosen.handle)
                print_note(f"agents neither find nor load it ({chosen.standing.value}): {why}")
            print_line(chosen.handle)
            return EXIT_OK


def _print_skills(shown: Sequence[ListedSkill], total: int, *, fits: bool, asking: bool = False) -> None:
    """Print a line for each skill and the count; to ask, on stderr, with numbers, and what has room on the screen."""
    stream = sys.stderr if asking else sys.stdout
    if shown and not fits:
        print_line("No good match. Nearest:", stream=stream)
    room = max(shutil.get_terminal_size().lines - _LINES_AROUND, 1) if asking else len(shown)
    for number, one in enumerate(shown[:room], start=1):
        state = "" if one.standing is Availability.ON else f" ({one.standing.value})"
        head = (f"{number:>3}  " if asking else "", (one.handle, "bold"), (state, "yellow"), f"  {_scope(one)}  ")
        used = sum(len(part if isinstance(part, str) else part[0]) for part in head)
        text = one_line(one.skill.description, width=max(columns(stream) - used, 20))
        print_line(*head, text, stream=stream)
    others = sum(one.standing is not Availability.ON for one in shown)
    count = f"{len(shown):,} of {total:,} skills{f', {others:,} not on' if others else ''}"
    print_line(count if shown else "(no match)", stream=stream)


def _fitting(hub: SkillHub, listed: Sequence[ListedSkill], typed: str) -> tuple[list[ListedSkill], bool]:
    """Return what fits, best first, or near misses, and whether they fit; without a word, all by name.

    A skill fits if a search finds it, or if its name, description or path contains every word.
    """
    words = fold_name(typed).split()
    if not words:
        return sorted(listed, key=lambda one: (one.skill.name, one.skill.directory)), True
    answer = hub.search(typed, limit=MAX_LIMIT)
    places = {hit.skill.directory: place for place, hit in enumerate(answer.hits)}

    def place(one: ListedSkill) -> tuple[int, str]:
        return places.get(one.skill.directory, len(places)), one.handle

    found = [one for one in listed if one.skill.directory in places]
    texts = [fold_name(f"{one.skill.name}\n{one.skill.description}\n{one.skill.directory}") for one in listed]
    containing = [one for one, text in zip(listed, texts, strict=True) if all(word in text for word in words)]
    fitting = {one.skill.directory: one for one in (*containing, *(found if answer.confident else ()))}
    return sorted(fitting.values() or found, key=place), bool(fitting)


def _scope(one: ListedSkill) -> str:
    return "repo" if one.source is Source.PROJECT else "user"
