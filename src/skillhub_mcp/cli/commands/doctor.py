"""`skillhub doctor`: a verdict, then a block for each problem: what it is about, what is wrong, and the fix."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping

from skillhub_mcp._util.wording import plural
from skillhub_mcp.bootstrap.hub import installation_of
from skillhub_mcp.cli.console import print_line, terminal_progress
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, print_json, problems_json
from skillhub_mcp.diagnosis.checks import examine
from skillhub_mcp.diagnosis.installation import CheckResult
from skillhub_mcp.environment import shown_path
from skillhub_mcp.settings import read_settings

EPILOG = "exit codes: 0 no problem (there may be warnings), 1 a problem, 2 usage error or an invalid setting, 3 a bug"
# Findings of one check and one severity, without --verbose.
_SHOWN = 3
_STYLES = {"problem": "bold red", "warning": "bold yellow", "note": "bold cyan"}


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("--verbose", action="store_true", help="also what works, notes, and every finding")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Check the settings, the skillhub-mcp command on PATH, the directories of skills, the index, the rules and the
    skills. Start what each connected client would start, and ask it for its tools.
    """
    settings, sources = read_settings(os.environ, options)
    # What would be logged is a finding, and the verdict comes first.
    with terminal_progress() as progress, open_hub(options, log_level="CRITICAL") as hub:
        results = dict(examine(installation_of(settings, sources, hub), on_start=lambda what: progress(what, 0, 0)))
    found = {
        f"{severity}s": [(name, one) for name, result in results.items() for one in getattr(result, f"{severity}s")]
        for severity in _STYLES
    }
    verdict = "problems" if found["problems"] else "warnings" if found["warnings"] else "well"
    if args.json:
        findings = {
            kind: [{"check": name} | problems_json([one])[0] for name, one in several]
            for kind, several in found.items()
        }
        facts = {name: fact for result in results.values() for name, fact in result.facts.items()}
        print_json({"verdict": verdict, **findings, **facts})
    else:
        style = {"problems": "bold red", "warnings": "bold yellow", "well": "bold green"}[verdict]
        counts = [plural(len(found[f"{one}s"]), one) for one in ("problem", "warning") if found[f"{one}s"]]
        print_line((", ".join(counts) or "All well", style))
        _print(results, verbose=args.verbose)
    return EXIT_FAILED if found["problems"] else EXIT_OK


def _print(results: Mapping[str, CheckResult], *, verbose: bool) -> None:
    # The number of skills comes first.
    for name in sorted(results, key=lambda name: name != "skills"):
        if results[name].state:
            print_line(f"  {results[name].state}")
    for severity, style in _STYLES.items():
        for name, result in results.items() if severity != "note" or verbose else ():
            found = getattr(result, f"{severity}s")
            for problem in found if verbose else found[:_SHOWN]:
                print_line("")
                print_line((severity, style), "  ", (shown_path(problem.subject), "bold"))
                print_line(f"  {problem.message}")
                print_line("  ", ("→", "green"), f" {problem.fix}")
            if not verbose and len(found) > _SHOWN:
                more = f"  … and {len(found) - _SHOWN:,} more of the {name}: skillhub doctor --verbose"
                print_line("")
                print_line((severity, style), more)
    if verbose:
        print_line("")
        for result in results.values():
            for detail in result.details:
                print_line(detail)
