"""`skillhub doctor`: a verdict, then a block for each problem: what it is about, what is wrong, and the fix."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from skillhub_mcp.cli.console import print_line, print_note, say_progress, shown_path
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_BUG, EXIT_FAILED, EXIT_OK, plural, print_json, problems_json

if TYPE_CHECKING:
    from skillhub_mcp.cli.checks import Examined
    from skillhub_mcp.skills.problems import Problem

# Of one check and one severity, unless all is asked for.
_SHOWN = 3


DESCRIPTION = (
    "Check the settings, the skillhub-mcp command on PATH, the directories of skills, the index, the rules, the "
    "skills, and how each is published. Start what each connected client would start, and ask it for its tools."
)
EPILOG = "exit codes: 0 no problem (there may be warnings), 1 a problem, 2 usage error or an invalid setting, 3 a bug"


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("--verbose", action="store_true", help="also what works, notes, and every finding")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the verdict and the findings. Raises InvalidSetting."""
    from skillhub_mcp.cli.checks import Installation, all_checks, examine
    from skillhub_mcp.settings import read_settings

    settings, sources = read_settings(os.environ, options)
    # What the log would tell of is a finding, and the verdict comes first.
    with open_hub(options, log_level="CRITICAL") as hub:
        examined = examine(Installation(settings, sources, hub), all_checks(), on_open=say_progress)
    if args.json:
        print_json(_as_json(examined))
    else:
        _print(examined, verbose=args.verbose)
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


def _print(examined: Sequence[Examined], *, verbose: bool) -> None:
    problems = sum(len(one.result.problems) for one in examined)
    warnings = sum(len(one.result.warnings) for one in examined)
    counts = [plural(problems, "problem")] if problems else []
    counts += [plural(warnings, "warning")] if warnings else []
    style = "bold red" if problems else "bold yellow" if warnings else "bold green"
    print_line((", ".join(counts) or "All well", style))
    # The number of skills comes first, although their check ends late.
    for one in sorted(examined, key=lambda one: one.check.name != "skills"):
        if one.result.state:
            print_line(f"  {one.result.state}")
    for severity, style in (("problem", "bold red"), ("warning", "bold yellow"), ("note", "bold cyan")):
        for one in examined if severity != "note" or verbose else ():
            found: tuple[Problem, ...] = getattr(one.result, f"{severity}s")
            for problem in found if verbose else found[:_SHOWN]:
                print_line("")
                print_line((severity, style), "  ", (shown_path(problem.subject), "bold"))
                print_line(f"  {problem.message}")
                print_line("  ", ("→", "green"), f" {problem.fix}")
            if not verbose and len(found) > _SHOWN:
                more = f"  … and {len(found) - _SHOWN:,} more of the {one.check.name}: skillhub doctor --verbose"
                print_line("")
                print_line((severity, style), more)
    if verbose:
        print_line("")
        for one in examined:
            for detail in one.result.details:
                print_line(detail)
