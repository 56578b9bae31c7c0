"""`skillhub index`: update the index and report what was found, served, shadowed and refused."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options
from skillhub_mcp.cli.forgetting import forget
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, print_json, print_text, strict_refusals
from skillhub_mcp.cli.pager import add_pager_option, paged
from skillhub_mcp.disclosure.counts import SkillCounts, count_skills
from skillhub_mcp.disclosure.empty_result import nothing_there
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.index.views import SyncDepth, View
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import settings_of
from skillhub_mcp.skills.admission import is_strict
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.snapshot import Shadowed


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "index",
        group=Group.SERVE,
        help="update the index and report",
        description="Update the index and report what was found, served, shadowed and refused, with reasons.",
    )
    parser.add_argument("--verify", action="store_true", help="read every file and row, not only what changed")
    parser.add_argument(
        "--dry-run", action="store_true", help="with --forget: say what would be dropped, and drop nothing"
    )
    parser.add_argument(
        "--forget",
        nargs="*",
        metavar="ROOT",
        help="drop what the index has of roots that are missing or not used here, or of all below a directory; without "
        "ROOT, list them",
    )
    add_json_option(parser)
    add_pager_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=paged(run))


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Update the index and print the report. Raises InvalidArgument for options that exclude each other."""
    # A first index goes on for minutes, and its memory is bounded.
    if args.forget is not None:
        if args.verify:
            raise InvalidArgument("--forget", "cannot be combined with --verify", hint="run one after the other")
        settings = settings_of(options)
        return forget(args.forget, settings, dry_run=args.dry_run, as_json=args.json)
    if args.dry_run:
        raise InvalidArgument("--dry-run", "is for --forget", hint="skillhub index --forget ROOT --dry-run")
    return _index(options, SyncDepth.VERIFY if args.verify else SyncDepth.CHANGES, as_json=args.json)


def rebuild(options: Mapping[str, str], *, as_json: bool) -> int:
    """Rebuild the index and print the report (`skillhub --reindex`)."""
    return _index(options, SyncDepth.REBUILD, as_json=as_json)


def _index(options: Mapping[str, str], depth: SyncDepth, *, as_json: bool) -> int:
    start = time.perf_counter()
    # This command looks for changes even if SKILLHUB_SKIP_AUTO_REINDEX is set for servers.
    updating = {**options, "SKILLHUB_SKIP_AUTO_REINDEX": "0"}
    with open_hub(updating) as hub:
        view = hub.refresh(depth)
        counts, lost = count_skills(*hub.snapshot_and_policy()), Names(view.snapshot, hub.access.now()).shadowed()
    seconds = time.perf_counter() - start
    if as_json:
        print_json(index_report_json(view, counts, lost, seconds))
    else:
        print_text(index_report_text(view, counts, lost, seconds))
    if view.problem is not None:
        raise view.problem
    report = view.snapshot.report
    # The same mistakes fail `skillhub list`.
    nothing_served = not view.snapshot.skills and bool(report.problems or report.refused)
    return EXIT_FAILED if view.index is None or nothing_served else EXIT_OK


def index_report_json(view: View, counts: SkillCounts, lost: Sequence[Shadowed], seconds: float) -> dict[str, object]:
    """Return the report as JSON values."""
    report = view.snapshot.report
    return {
        "found": report.found,
        "served": counts.served,
        "not_for_models": counts.not_for_models,
        "excluded": {"filtered": counts.filtered, "off": counts.off, "denied": counts.denied},
        "digest": view.snapshot.digest,
        "seconds": round(seconds, 3),
        "index": _index_facts(view),
        "diagnostics": dict(_violations(view)),
        "refused": [
            {
                "path": refused.directory,
                "diagnostics": [
                    {"rule": d.rule, "line": d.line, "message": d.message, "hint": d.hint} for d in refused.diagnostics
                ],
            }
            for refused in report.refused
        ],
        "shadowed": [
            {
                "name": s.skill.name,
                "path": s.skill.directory,
                "served_instead": s.winner.directory,
                "reason": s.why.value,
            }
            for s in lost
        ],
        "problems": [
            {"path": problem.path, "reason": problem.reason, "fix": problem.fix} for problem in report.problems
        ],
    }


def index_report_text(view: View, counts: SkillCounts, lost: Sequence[Shadowed], seconds: float) -> str:
    """Return the report as text."""
    report = view.snapshot.report
    strict = sum(is_strict(refused.reason.rule) for refused in report.refused)
    people = f", {counts.not_for_models:,} not for models" if counts.not_for_models else ""
    excluded = {"off": counts.off, "denied": counts.denied, "filtered": counts.filtered}
    lines = [
        f"found     {report.found:,}",
        f"served    {counts.served:,}{people}",
        *(f"{state:<10}{count:,}" for state, count in excluded.items() if count),
        f"shadowed  {len(lost):,} by another skill with the same name",
        f"refused   {len(report.refused):,}{strict_refusals(strict, 'without SKILLHUB_STRICT they are served')}",
        f"index     {_index_sentence(view)}",
        f"digest    {view.snapshot.digest}",
        f"time      {seconds:.2f} s",
    ]
    lines += [f"\n{in_line(f'{problem.path} {problem.reason}; {problem.fix}')}" for problem in report.problems]
    for refused in report.refused:
        by_strict = " by a strict rule" if is_strict(refused.reason.rule) else ""
        lines.append(f"\n{in_line(refused.directory)}/SKILL.md is refused{by_strict}:")
        for d in refused.diagnostics:
            where = f"line {d.line}: " if d.line else ""
            lines.append(in_line(f"  {where}{d.message} ({d.rule}); {d.hint}"))
    if lost:
        lines.append("\nshadowed:")
        lines += [in_line(f"  {s.skill.directory} by {s.winner.directory}") for s in lost]
    violations = _violations(view)
    if violations:
        lines.append("\nrules broken by skills that are not refused:")
        lines += [f"  {count:>6,}  {rule}" for rule, count in violations]
    if not (report.found or report.problems):
        lines += [f"\nNo SKILL.md was found: {in_line(cause.sentence())}" for cause in nothing_there(report)]
    return "\n".join(lines)


def _violations(view: View) -> list[tuple[str, int]]:
    counts = Counter(d.rule for skill in view.snapshot.skills for d in skill.diagnostics)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _index_facts(view: View) -> dict[str, object]:
    done = view.report
    if view.problem is not None:
        return {"changed": False, "problem": view.problem.message}
    if done is None:
        return {"changed": False}
    return {
        "changed": True,
        "reason": done.reason,
        "rebuilt": done.rebuilt,
        "written": done.written,
        "removed": done.removed,
        "embedding_failure": done.embedding_failure,
    }


def _index_sentence(view: View) -> str:
    done = view.report
    if view.problem is not None:
        return "not written; searches use the last index, or one in memory"
    if done is None:
        return "unchanged"
    what = "rebuilt" if done.rebuilt else "updated"
    failure = f"; text only: {done.embedding_failure}" if done.embedding_failure else ""
    return f"{what}, {done.written:,} written, {done.removed:,} removed ({done.reason}){failure}"
