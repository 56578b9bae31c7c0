"""`skillhub index`: update the index and report what was found, served, shadowed and refused."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skillhub_mcp._util.wording import plural
from skillhub_mcp.bootstrap.hub import index_writer
from skillhub_mcp.chosen_roots import roots_of
from skillhub_mcp.cli.console import print_line, print_note, print_text
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, finding_json, print_json, problems_json
from skillhub_mcp.disclosure.empty_result import nothing_there
from skillhub_mcp.disclosure.listing import count_skills
from skillhub_mcp.errors import IndexUnavailable, InvalidArgument
from skillhub_mcp.index.indexed_roots import indexed_roots, roots_to_forget
from skillhub_mcp.index.views import View
from skillhub_mcp.index.writer import SyncDepth
from skillhub_mcp.settings import Settings, settings_of
from skillhub_mcp.skills.name_resolution import Names


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--verify", action="store_true", help="read every file and row, not only what changed")
    how.add_argument("--rebuild", action="store_true", help="make all rows and vectors again")
    how.add_argument("--forget", nargs="*", metavar="ROOT", help="drop roots from the index; without ROOT, list them")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Update the index and report what was found, served, shadowed and refused, with reasons."""
    if args.forget is not None:
        return _forget(args.forget, settings_of(options), dry_run=args.dry_run, as_json=args.json)
    if args.dry_run:
        raise InvalidArgument("--dry-run", "is for --forget", hint="skillhub index --forget ROOT --dry-run")
    depth = SyncDepth.REBUILD if args.rebuild else SyncDepth.VERIFY if args.verify else SyncDepth.CHANGES
    start = time.perf_counter()
    # This command looks for changes even if SKILLHUB_SKIP_AUTO_REINDEX is set for servers.
    with open_hub({**options, "SKILLHUB_SKIP_AUTO_REINDEX": "0"}) as hub:
        view = hub.refresh(depth)
        counts, lost = count_skills(*hub.snapshot_and_policy()), Names(view.snapshot, hub.access.now()).shadowed()
    report = view.snapshot.report
    facts = {
        "found": report.found,
        "served": counts.served,
        "not_for_models": counts.not_for_models,
        "excluded": {"filtered": counts.filtered, "off": counts.off, "denied": counts.denied},
        "digest": view.snapshot.digest,
        "seconds": round(time.perf_counter() - start, 3),
        "index": _index_facts(view),
        "diagnostics": dict(Counter(d.rule for skill in view.snapshot.skills for d in skill.diagnostics).most_common()),
        "refused": [
            {"path": one.directory, "diagnostics": [finding_json(d, hint=d.hint) for d in one.diagnostics]}
            for one in report.refused
        ],
        "shadowed": [
            {"name": s.skill.name, "path": s.skill.directory, "served_instead": s.winner.directory} for s in lost
        ],
        "problems": problems_json(report.problems),
    }
    if args.json:
        print_json(facts)
    else:
        for line in _report_lines(facts, view):
            print_line(line)
    if view.problem is not None:
        raise view.problem
    # The same mistakes fail `skillhub list`.
    nothing_served = not view.snapshot.skills and bool(report.problems or report.refused)
    return EXIT_FAILED if view.index is None or nothing_served else EXIT_OK


def _report_lines(facts: Mapping[str, Any], view: View) -> Iterator[str]:
    """Yield the report as text."""
    people = f", {facts['not_for_models']:,} not for models" if facts["not_for_models"] else ""
    yield f"found     {facts['found']:,}"
    yield f"served    {facts['served']:,}{people}"
    excluded = {state: count for state, count in facts["excluded"].items() if count}
    for name, count in (excluded | {kind: len(facts[kind]) for kind in ("shadowed", "refused")}).items():
        yield f"{name:<10}{count:,}"
    yield f"index     {_index_sentence(view)}"
    yield f"digest    {facts['digest']}"
    yield f"time      {facts['seconds']:.2f} s"
    problems = [one.sentence() for one in view.snapshot.report.problems]
    if not (facts["found"] or problems):
        problems = [f"No SKILL.md was found: {cause.sentence()}" for cause in nothing_there(view.snapshot.report)]
    for problem in problems:
        yield from ("", problem)
    for refused in facts["refused"]:
        yield from ("", f"{refused['path']}/SKILL.md is refused:")
        for d in refused["diagnostics"]:
            where = f"line {d['line']}: " if d["line"] else ""
            yield f"  {where}{d['message']} ({d['rule']}); {d['hint']}"
    if facts["shadowed"]:
        yield from ("", "shadowed:", *(f"  {one['path']} by {one['served_instead']}" for one in facts["shadowed"]))
    if facts["diagnostics"]:
        rules = plural(len(facts["diagnostics"]), "rule")
        yield from ("", f"skills that are served break {rules}: `skillhub validate` lists them")


def _index_facts(view: View) -> dict[str, object]:
    if view.problem is not None:
        return {"changed": False, "problem": view.problem.message}
    names = ("reason", "rebuilt", "written", "removed", "embedding_failure")
    done = view.report
    return {"changed": done is not None} | {name: getattr(done, name) for name in names if done is not None}


def _index_sentence(view: View) -> str:
    done = view.report
    if view.problem is not None:
        return "not written; searches use the last index, or one in memory"
    if done is None:
        return "unchanged"
    what = "rebuilt" if done.rebuilt else "updated"
    failure = f"; text only: {done.embedding_failure}" if done.embedding_failure else ""
    return f"{what}, {done.written:,} written, {done.removed:,} removed ({done.reason}){failure}"


def _forget(typed: Sequence[str], settings: Settings, *, dry_run: bool, as_json: bool) -> int:
    """Drop what the index has of some roots, and print which; of none, print those that could be dropped.

    Raises InvalidArgument for a root in use, or of no such name, and IndexUnavailable for a replica.
    """
    if settings.replica.read_only:
        raise IndexUnavailable(
            "A read-only replica has no rows of roots to forget",
            hint="forget them where the skills are, and run skillhub publish there",
        )
    writer = index_writer(settings)
    roots = indexed_roots(writer.states(), {root.path for root in roots_of(settings)})
    chosen = roots_to_forget(typed, roots)
    forgotten = bool(chosen) and not dry_run
    if forgotten:
        writer.forget([one.path for one in chosen])
    reported = chosen if typed else tuple(one for one in roots if one.is_forgettable)
    if as_json:
        return print_json({"forgotten": forgotten, "roots": [one.as_json() for one in reported]})
    for one in reported:
        gone = "" if one.there else ", not there any more"
        print_line(f"{'forgotten  ' if forgotten else ''}{one.path}  {one.facts}{gone}")
    if not reported:
        print_text("every root that the index has is there and used by this configuration")
    elif not forgotten:
        why = "because of --dry-run" if typed else "another project or server may use these; name one, as --forget ROOT"
        print_note(f"nothing was forgotten: {why}")
    return EXIT_OK
