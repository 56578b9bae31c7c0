"""`skillhub publish`: write the library to a directory or bucket, list what was published, and go back to it."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone

from skillhub_mcp.bootstrap.publication import library_to_publish, publication_target
from skillhub_mcp.chosen_roots import roots_of
from skillhub_mcp.cli.arguments import whole_number
from skillhub_mcp.cli.console import print_text, terminal_progress
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, plural, print_json, size_text
from skillhub_mcp.errors import InvalidArgument, InvalidSetting, LibraryChanging
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import Settings, settings_of
from skillhub_mcp.store.publish import PublishOptions, PublishReport, publications, publish, roll_back
from skillhub_mcp.store.records import Publication
from skillhub_mcp.store.targets import Target, lies_in, unfit_reason

_KEEP = 10
_KEEP_DAYS = 7.0
_TRIES = 3
_SHOWN = 20


DESCRIPTION = (
    "Write the skills that this hub serves, with their files and the index, to a LanceDB database in a directory or a"
    " bucket (s3://, gs://, az://), for servers started with --read-only. Only what changed is written, and servers "
    "see the last publication until the new one is complete. Skills that are disabled, denied, filtered, withheld or "
    "untrusted are not published, nor are dotfiles unless they are served."
)


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("target", metavar="TARGET", help="a directory, or s3://BUCKET/PREFIX, gs://…, az://…")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="list the publications that are kept")
    what.add_argument("--rollback", metavar="NUMBER", type=whole_number, help="publish an earlier publication again")
    what.add_argument("--rebuild", action="store_true", help="write everything again, over what is damaged")
    parser.add_argument(
        *("--keep",), metavar="N", default=_KEEP, type=whole_number, help="publications to keep (default: %(default)s)"
    )
    parser.add_argument(
        "--keep-days", metavar="DAYS", default=_KEEP_DAYS, type=_days, help="and for how long (default: %(default)g)"
    )


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Publish, list or roll back, and print what was done.

    Raises what `publish` raises, InvalidArgument for the target, and InvalidSetting where SKILLHUB_READ_ONLY is set.
    """
    # This command looks for changes even if SKILLHUB_SKIP_AUTO_REINDEX is set for servers.
    updating = {**options, "SKILLHUB_SKIP_AUTO_REINDEX": "0"}
    settings = settings_of(updating)
    target = publication_target(settings, args.target)
    if args.list:
        return _list(target, as_json=args.json)
    if args.rollback is not None and not args.dry_run:
        return _roll_back(target, args.rollback, as_json=args.json)
    start = time.perf_counter()
    if settings.replica.read_only:
        reason = "is set, and a replica has no skills of its own to publish"
        raise InvalidSetting("SKILLHUB_READ_ONLY", "1", reason, hint="publish where the skills are, without it")
    if problem := unfit_reason(args.target):
        raise InvalidArgument("TARGET", problem, hint="name a directory of its own for the publication")
    for root in roots_of(settings):
        if lies_in(args.target, root.path):
            raise _in_library(f"the root {root.path}")
    report = _published(args, target, settings, updating)
    seconds = time.perf_counter() - start
    if args.json:
        print_json(publish_report_json(report, dry_run=args.dry_run, seconds=seconds))
    else:
        print_text(publish_report_text(report, dry_run=args.dry_run, seconds=seconds))
    return EXIT_OK


def _list(target: Target, *, as_json: bool) -> int:
    kept = publications(target)
    if as_json:
        print_json({"target": target.name, "publications": [_as_json(one) for one in kept]})
    else:
        lines = [in_line(f"{plural(len(kept), 'publication')} at {target.name}, newest first; the first is served:")]
        lines += [
            f"{one.number:>6}  {_time(one)}  {plural(one.skills, 'skill')}, {plural(one.files, 'file')}, "
            f"{size_text(one.bytes)}"
            for one in kept
        ]
        print_text("\n".join(lines))
    return EXIT_OK


def _roll_back(target: Target, number: int, *, as_json: bool) -> int:
    made = roll_back(target, number)
    if as_json:
        print_json({"target": target.name, "rolled_back_to": number, **_as_json(made)})
    else:
        print_text(f"published {made.number}: what publication {number} had, {plural(made.skills, 'skill')}")
    return EXIT_OK


def _as_json(one: Publication) -> dict[str, object]:
    return {
        "number": one.number,
        "created_at": _time(one),
        "skills": one.skills,
        "files": one.files,
        "bytes": one.bytes,
        "digest": one.digest,
    }


def _time(one: Publication) -> str:
    made = datetime.fromtimestamp(one.created_at, timezone.utc)
    return made.isoformat(timespec="seconds").replace("+00:00", "Z")


def _published(
    args: argparse.Namespace, target: Target, settings: Settings, options: Mapping[str, str]
) -> PublishReport:
    how = PublishOptions(
        keep=args.keep,
        keep_days=args.keep_days,
        dry_run=args.dry_run,
        rebuild=args.rebuild,
        dotfiles=settings.disclosure.serve_dotfiles,
    )
    with terminal_progress() as progress, open_hub(options) as hub:
        for attempt in range(1, _TRIES + 1):
            library = library_to_publish(settings, hub)
            if not library.skills:
                raise InvalidArgument(
                    "SKILLS_DIR",
                    "has no skill that can be published, and nothing replaces a publication by an empty one",
                    hint="skillhub list --all shows what is there and why it is not served",
                )
            # A link in a root may lead to a skill elsewhere.
            for own in library.skills:
                if lies_in(args.target, own.skill.directory):
                    raise _in_library(f"the skill {own.skill.directory}")
            try:
                return publish(library, target, how, progress)
            except LibraryChanging:
                # What was read meanwhile belongs to no one state of the library.
                if attempt == _TRIES:
                    raise
    raise AssertionError(attempt)


def _in_library(place: str) -> InvalidArgument:
    return InvalidArgument(
        "TARGET",
        f"would be written into {place}, which is published: each publication would have the one before in it",
        hint="name a directory outside of it, and remove what an earlier publication left there",
    )


def publish_report_json(report: PublishReport, *, dry_run: bool, seconds: float) -> dict[str, object]:
    """Return the report as JSON values."""
    return {
        "target": report.target,
        "publication": report.number,
        "changed": report.changed,
        "dry_run": dry_run,
        "skills": {
            "published": report.skills,
            "added": list(report.added),
            "modified": list(report.modified),
            "removed": list(report.removed),
            "without_vector": report.unembedded,
        },
        "files": {
            "published": report.files,
            "bytes": report.bytes,
            "new": report.new_files,
            "new_bytes": report.new_bytes,
        },
        "left_out": [{"skill": one.skill, "path": one.path, "reason": one.reason} for one in report.left_out],
        "dropped": list(report.dropped),
        "seconds": round(seconds, 3),
    }


def publish_report_text(report: PublishReport, *, dry_run: bool, seconds: float) -> str:
    """Return the report as text."""
    number = f" {report.number}" if report.number else ""
    done = f"published{number}" if report.changed else f"unchanged since publication{number}"
    planned = "would publish" if report.changed else "would change nothing"
    unembedded = f"; {report.unembedded:,} have no vector yet" if report.unembedded else ""
    counts = f"{len(report.added):,} new, {len(report.modified):,} changed, {len(report.removed):,} removed"
    lines = [
        in_line(f"{planned if dry_run else done}: {report.target}"),
        f"skills  {report.skills:,}: {counts}{unembedded}",
        f"files   {report.files:,}, {size_text(report.bytes)}: {report.new_files:,} new, {size_text(report.new_bytes)}",
    ]
    if report.dropped:
        lines.append(f"dropped {plural(len(report.dropped), 'publication')}")
    lines.append(f"time    {seconds:.2f} s")
    if dry_run:
        lines += _changes(report)
    if report.left_out:
        lines.append(f"\nnot published ({len(report.left_out):,}):")
        reported = [
            f"{one.skill}: {one.path} {one.reason}" if one.path else f"{one.skill} {one.reason}"
            for one in report.left_out
        ]
        lines += _some(reported)
    return "\n".join(lines)


def _changes(report: PublishReport) -> Iterator[str]:
    for mark, keys in (("+", report.added), ("~", report.modified), ("-", report.removed)):
        yield from _some([f"{mark} {key}" for key in keys])


def _some(reported: Sequence[str]) -> Iterator[str]:
    yield from (in_line(f"  {one}") for one in reported[:_SHOWN])
    if len(reported) > _SHOWN:
        yield f"  and {len(reported) - _SHOWN:,} more; --json lists all"


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = math.nan
    if not days >= 0:
        raise argparse.ArgumentTypeError(f"must be a number of days, not {text!r}")
    return days
