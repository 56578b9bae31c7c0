"""`skillhub doctor`: whether all is well, and one block for each thing that is not: what, why, and what mends it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options
from skillhub_mcp.cli.colours import Colour, Painter, painter
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import (
    EXIT_BUG,
    EXIT_FAILED,
    EXIT_OK,
    from_home,
    plural,
    print_json,
    print_note,
    problems_json,
)
from skillhub_mcp.cli.pager import add_pager_option, paged
from skillhub_mcp.cli.progress_line import say_progress

if TYPE_CHECKING:
    from skillhub_mcp.cli.checks.all_checks import Examined
    from skillhub_mcp.skills.problems import Problem

# Of one check and one severity, unless all is asked for.
_SHOWN = 3


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "doctor",
        group=Group.SERVE,
        everyday=True,
        help="say whether all is well, and what mends what is not",
        description="Check the settings, the skillhub-mcp command on PATH, the directories of skills, the index, the "
        "rules, the skills, and how each is published to hosts that read skills natively. Start what each connected "
        "client would start, as it would, and ask that for its tools. First comes the verdict, "
        "then a block for each problem and each warning: what it is about, what is wrong, and what mends it.",
        epilog="exit codes: 0 no problem (there may be warnings), 1 a problem, 2 usage error or an invalid setting, "
        "3 a check failed with a bug",
    )
    parser.add_argument(
        "--verbose", action="store_true", help="also what is well, notes, and every finding of many of one kind"
    )
    add_json_option(parser)
    add_pager_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=paged(run))


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the verdict and the findings. Raises InvalidSetting."""
    # Loaded here alone: no other command needs any of it.
    from skillhub_mcp.cli.checks.all_checks import CHECKS, examine
    from skillhub_mcp.cli.checks.installation import Installation
    from skillhub_mcp.settings import read_settings

    settings, sources = read_settings(os.environ, options)
    # What the log would tell of is a finding, and the verdict comes first.
    with open_hub(options, log_level="CRITICAL") as hub:
        examined = examine(Installation(settings, sources, hub), CHECKS, on_open=say_progress)
    if args.json:
        print_json(_as_json(examined))
    else:
        print("\n".join(_text(examined, painter(sys.stdout, os.environ), verbose=args.verbose)))
    bugs = [one.bug for one in examined if one.bug]
    for bug in bugs:
        print_note(bug)
    if bugs:
        return EXIT_BUG
    return EXIT_FAILED if any(one.result.problems for one in examined) else EXIT_OK


def _as_json(examined: Sequence[Examined]) -> dict[str, object]:
    facts = {name: fact for one in examined for name, fact in one.result.facts.items()}
    verdict = next(
        (name for name in ("problems", "warnings") if any(getattr(one.result, name) for one in examined)), "well"
    )
    return {
        "verdict": verdict,
        "problems": [found for one in examined for found in _found_json(one, one.result.problems)],
        "warnings": [found for one in examined for found in _found_json(one, one.result.warnings)],
        "notes": [found for one in examined for found in _found_json(one, one.result.notes)],
        **facts,
    }


def _found_json(one: Examined, problems: Sequence[Problem]) -> list[dict[str, str]]:
    return [{"check": one.check.name, **found} for found in problems_json(problems)]


def _text(examined: Sequence[Examined], paint: Painter, *, verbose: bool) -> Iterator[str]:
    yield _verdict(examined, paint)
    for severity, colour in (("problem", Colour.RED), ("warning", Colour.YELLOW), ("note", Colour.CYAN)):
        if severity == "note" and not verbose:
            continue
        for one in examined:
            result = one.result
            found = {"problem": result.problems, "warning": result.warnings, "note": result.notes}[severity]
            for problem in found if verbose else found[:_SHOWN]:
                yield ""
                yield f"{paint(severity, colour, Colour.BOLD)}  {paint(from_home(problem.subject), Colour.BOLD)}"
                yield f"  {paint(problem.message)}"
                yield f"  {paint('→', Colour.GREEN)} {paint(problem.fix)}"
            more = len(found) - _SHOWN
            if more > 0 and not verbose:
                yield ""
                yield (
                    f"{paint(severity, colour, Colour.BOLD)}  … and {more:,} more of the {one.check.name}: "
                    "skillhub doctor --verbose"
                )
    if verbose:
        yield ""
        for one in examined:
            yield from map(paint, one.result.details)


def _verdict(examined: Sequence[Examined], paint: Painter) -> str:
    # How many skills there are comes first, although what is wrong with one of them is told late.
    states = sorted(examined, key=lambda one: one.check.name != "skills")
    state = ", ".join(one.result.state for one in states if one.result.state)
    problems = sum(len(one.result.problems) for one in examined)
    warnings = sum(len(one.result.warnings) for one in examined)
    counts = [plural(problems, "problem")] if problems else []
    counts += [plural(warnings, "warning")] if warnings else []
    if not counts:
        return f"{paint('All well', Colour.GREEN, Colour.BOLD)}: {state}."
    colour = Colour.RED if problems else Colour.YELLOW
    rest = f" {state[:1].upper()}{state[1:]}." if state else ""
    return f"{paint(', '.join(counts), colour, Colour.BOLD)}.{rest}"
