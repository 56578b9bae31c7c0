"""`skillhub eval`: search quality on the user's own skills and queries, compared with other search methods."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict

from skillhub_mcp._util.tempdir import scratch_directory
from skillhub_mcp._util.wording import plural
from skillhub_mcp.bootstrap.hub import choose_embedder
from skillhub_mcp.cli.arguments import Parser, add_action, add_actions
from skillhub_mcp.cli.commands.stats import note_unreadable, served_handles
from skillhub_mcp.cli.console import print_line, print_note, print_table, print_text, terminal_progress
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, json_text, print_json, write_file
from skillhub_mcp.errors import InvalidArgument, QueriesUnreadable
from skillhub_mcp.evaluation.baselines import BASELINES
from skillhub_mcp.evaluation.evaluator import evaluate
from skillhub_mcp.evaluation.measures import calibration_error, reliability
from skillhub_mcp.evaluation.overlaps import find_overlaps
from skillhub_mcp.evaluation.queries import read_queries, relevant_directories
from skillhub_mcp.evaluation.report import Report
from skillhub_mcp.settings import settings_of
from skillhub_mcp.usage import NAME_A_LOG, read_usage

_SHOWN_HITS = 3
_SHOWN_PAIRS = 50


def add_arguments(parser: Parser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("--overlaps", action="store_true", help="list skills that compete for the same queries")
    actions = add_actions(parser)
    running = add_action(actions, "run", _run, "run queries and print the metrics, also of baselines")
    running.add_argument("queries", metavar="QUERIES", help='JSON lines: {"text": "…", "relevant": ["skill-name"]}')
    running.add_argument(
        "--baseline", action="append", default=[], metavar="NAME", help="also measure this one; repeatable"
    )
    running.add_argument("--min-ndcg", type=_share, metavar="X", help="fail if nDCG@10 is lower")
    logged = add_action(actions, "from-log", _from_log, "make queries from searches that led to a load")
    logged.add_argument("log", metavar="LOG", help="file written by SKILLHUB_USAGE_LOG")
    logged.add_argument("--output", metavar="FILE", help="file to write (default: standard output)")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Measure search quality on queries with known relevant skills, make queries from a usage log, or list skills that
    compete for the same queries.
    """
    if not args.overlaps:
        raise InvalidArgument("ACTION", "is required", hint="skillhub eval run|from-log, or skillhub eval --overlaps")
    # Comparing skills is not a use of them, so it is not logged.
    with terminal_progress() as progress, open_hub({**options, "SKILLHUB_USAGE": "off"}) as hub:
        found = find_overlaps(hub, progress)
    if args.json:
        return print_json({"overlaps": [asdict(one) for one in found], "pairs": len(found)})
    if not found:
        print_text("No overlapping skills found.")
        return EXIT_OK
    rows = [
        (f"{one.share:4.0%}", one.skill, one.rival, "nearly the same text" if one.copy else ", ".join(one.shared))
        for one in found[:_SHOWN_PAIRS]
    ]
    print_table(("share", "skill", "found instead", "shared words"), rows)
    if len(found) > _SHOWN_PAIRS:
        print_text(f"… and {len(found) - _SHOWN_PAIRS:,} more pairs; --json lists them all")
    return EXIT_OK


def _run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    unknown = [name for name in args.baseline if name not in BASELINES]
    if unknown:
        raise InvalidArgument("--baseline", f"{unknown[0]!r} is not one of: {', '.join(BASELINES)}")
    queries = read_queries(args.queries)
    if args.min_ndcg is not None and not any(query.relevant for query in queries):
        raise InvalidArgument("--min-ndcg", f"cannot be computed: no query of {args.queries} has a relevant skill")
    settings = settings_of(options)
    with scratch_directory("eval") as scratch:
        # A temporary index, so that the user's is not changed.
        own = {**options, "SKILLHUB_DB_PATH": os.path.join(scratch, "skills.lancedb"), "SKILLHUB_USAGE": "off"}
        with terminal_progress() as progress, open_hub(own) as hub:
            hub.refresh()
            listed = {one.handle: one.skill.directory for one in hub.listed()}
            relevant = relevant_directories(queries, listed, args.queries)
            embedder = choose_embedder(settings)
            reports = evaluate(hub, queries, relevant, baselines=args.baseline, embedder=embedder, progress=progress)
    if args.json:
        print_json({"queries": len(queries), "engines": [_eval_report_json(report) for report in reports]})
    else:
        _print_reports(reports)
    mean = reports[0].mean
    if args.min_ndcg is not None and mean is not None and mean.ndcg_at_10 < args.min_ndcg:
        print_note(f"nDCG@10 is {mean.ndcg_at_10:.3f}, below {args.min_ndcg:g}")
        return EXIT_FAILED
    return EXIT_OK


def _share(written: str) -> float:
    with suppress(ValueError):
        if 0.0 <= (share := float(written)) <= 1.0:
            return share
    raise argparse.ArgumentTypeError(f"must be a number from 0 to 1, not {written!r}")


def _from_log(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    usage = read_usage(args.log)
    if usage.unreadable and not (usage.searches or usage.loads or usage.reads):
        raise QueriesUnreadable(args.log, 0, "has no valid line", hint=NAME_A_LOG)
    note_unreadable(usage, args.log)
    with open_hub({**options, "SKILLHUB_USAGE": "off"}) as hub:
        served = frozenset(served_handles(hub))
    answered = {text: [one for one in skills if one in served] for text, skills in usage.chosen.items()}
    queries = [
        {"id": f"log-{number:04}", "text": text, "kind": "log", "relevant": skills}
        for number, (text, skills) in enumerate(((t, s) for t, s in answered.items() if s), start=1)
    ]
    if args.output and not queries:
        why = "has no search that led to a load of a skill that is served"
        raise QueriesUnreadable(args.log, 0, why, hint=f"{args.output} is left as it is; {NAME_A_LOG}")
    lines = [json_text(query, "utf-8" if args.output else sys.stdout.encoding) for query in queries]
    if args.output:
        write_file(args.output, "".join(f"{line}\n" for line in lines).encode())
    for line in [] if args.output else lines:
        print_text(line)
    chosen, searches = plural(len(usage.chosen), "query", "queries"), plural(usage.searches, "search", "searches")
    print_note(f"{chosen} of {searches} led to a load")
    if dropped := len(usage.chosen) - len(queries):
        print_note(f"left out: {plural(dropped, 'query', 'queries')} whose skills are no longer served")
    return EXIT_OK


def _print_reports(reports: Sequence[Report]) -> None:
    width = max(len(report.engine) for report in reports)
    print_text(f"{'':{width}}  Hit@1   R@5    R@10   MRR@10 nDCG@10  95 % interval  gain           refused  p50")
    for report in reports:
        print_text(_line(report, reports[0], width))
    ours = reports[0]
    if kinds := ", ".join(f"{kind} {mean.ndcg_at_10:.3f}" for kind, mean in ours.kinds.items()):
        print_text(f"\nby kind: {kinds} (nDCG@10)")
    error = calibration_error(ours.scored)
    if error is not None:
        print_text(f"\nscores as probabilities: off by {error:.2f} in the mean")
    if ours.worst:
        print_text("\nworst:")
    for one in ours.worst:
        quality = 0.0 if one.quality is None else one.quality.ndcg_at_10
        print_line(f"  {quality:.2f}  {one.query.id}  {one.query.text}")
        found = ", ".join(os.path.basename(path) for path in one.found[:_SHOWN_HITS])
        print_line(f"        found {found or 'nothing'}")


def _line(report: Report, ours: Report, width: int) -> str:
    mean = report.mean
    line = f"{report.engine:{width}}  "
    if mean is not None:
        low, high = report.intervals["ndcg_at_10"]
        line += "  ".join(f"{value:.3f}" for value in asdict(mean).values()) + f"   {low:.3f}–{high:.3f}"
        gained = None if report is ours else ours.gain_over(report)
        gain = "" if gained is None else "{:+.3f} ({:+.3f}…{:+.3f})".format(*gained)
        line += f"  {gain:<24}"
    shares = [f"{share:.0%}" for share in (report.rejection_rate, report.false_rejection_rate) if share is not None]
    return f"{line}  {' / '.join(shares)}  {report.median_milliseconds:.1f} ms"


def _eval_report_json(report: Report) -> dict[str, object]:
    return {
        "engine": report.engine,
        "mean": None if report.mean is None else asdict(report.mean),
        "intervals": report.intervals,
        "kinds": {kind: asdict(mean) for kind, mean in report.kinds.items()},
        "refused": report.rejection_rate,
        "refused_wrongly": report.false_rejection_rate,
        "refused_where_95_percent_are_kept": report.refused_where_kept,
        "calibration_error": calibration_error(report.scored),
        "reliability": [asdict(one) for one in reliability(report.scored)],
        "median_milliseconds": report.median_milliseconds,
        "worst": [{"id": one.query.id, "text": one.query.text, "found": list(one.found)} for one in report.worst],
    }
