"""`skillhub publish`: write the skills, their files and the index to a directory or a bucket, for read-only servers."""

from __future__ import annotations

import argparse
import os
import socket
import time
from collections.abc import Mapping
from typing import Any

from skillhub_mcp.bootstrap.publication import library_to_publish, publication_rows, publication_store
from skillhub_mcp.chosen_roots import roots_of
from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options, whole_number
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, plural, print_json, print_note, print_text, print_waiting, size_text
from skillhub_mcp.cli.progress_line import terminal_progress
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import IndexUnavailable, InvalidArgument, InvalidSetting, LibraryChanging
from skillhub_mcp.harmless import in_line
from skillhub_mcp.settings import Settings, settings_of
from skillhub_mcp.storage.contents import ContentLimits
from skillhub_mcp.storage.lease import LeaseTimes
from skillhub_mcp.storage.publish import PublishOptions, PublishReport, publish
from skillhub_mcp.storage.targets import file_in_place, foreign_names, lies_in, skills_around

_KEEP = 10
_WAIT_SECONDS = 60
_DAY_SECONDS = 86_400
_TRIES = 3
_SHOWN = 20


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "publish",
        group=Group.SERVE,
        help="write the library to a directory or bucket, for read-only servers",
        description="Write the skills that this hub serves, with their files and the index, to a directory or a bucket "
        "(s3://, gs://, az://), for servers started with --read-only. Only what changed is uploaded, and servers see "
        "the last publication until the new one is whole. What awaits trust, is filtered, switched off, denied, "
        "withheld by the audit or, with SKILLHUB_FROZEN, not as it was locked is not published, nor are dotfiles "
        "unless they are served.",
    )
    parser.add_argument("target", metavar="TARGET", help="a directory, or s3://BUCKET/PREFIX, gs://…, az://…")
    parser.add_argument(
        "--keep",
        metavar="N",
        default=_KEEP,
        type=_at_least_one,
        help="snapshots to keep besides the pinned ones (default: %(default)s)",
    )
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        default=_WAIT_SECONDS,
        type=_seconds,
        help="how long to wait for another publisher (default: %(default)s)",
    )
    parser.add_argument(
        "--publisher",
        metavar="WORD",
        default="",
        help="how others are told of this publisher (default: this machine's name)",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be published, and write nothing")
    add_json_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Publish, and print what was done.

    Raises what `publish` raises, InvalidArgument for the target, and InvalidSetting where SKILLHUB_READ_ONLY is set.
    """
    start = time.perf_counter()
    # This command looks for changes even if SKILLHUB_SKIP_AUTO_REINDEX is set for servers.
    updating = {**options, "SKILLHUB_SKIP_AUTO_REINDEX": "0"}
    settings = settings_of(updating)
    if settings.replica.read_only:
        reason = "is set, and a replica has no skills of its own to publish"
        raise InvalidSetting("SKILLHUB_READ_ONLY", "1", reason, hint="publish where the skills are, without it")
    if problem := _unfit(args.target):
        raise InvalidArgument("TARGET", problem, hint="name a directory of its own for the publication")
    for root in roots_of(settings):
        if lies_in(args.target, root.path):
            raise _in_library(f"the root {root.path}")
    report = _published(args, settings, updating)
    if args.json:
        print_json(publish_report_json(report, dry_run=args.dry_run, seconds=time.perf_counter() - start))
    else:
        print_text(publish_report_text(report, dry_run=args.dry_run, seconds=time.perf_counter() - start))
    return EXIT_OK


def _unfit(target: str) -> str:
    """Return why a target on this machine can be no publication; empty where it can, and for a bucket."""
    if foreign := foreign_names(target):
        return f"holds {', '.join(map(repr, foreign))}, and no publication"
    if file := file_in_place(target):
        is_itself = file == os.path.abspath(expand_home(target))
        return "is no directory" if is_itself else f"would lie below {file}, which is no directory"
    return ""


def _published(args: argparse.Namespace, settings: Settings, options: Mapping[str, str]) -> PublishReport:
    from skillhub_mcp.index.lance import IndexDamaged

    store = publication_store(settings, args.target, on_slow=print_waiting)
    # A link in a root may lead to a skill elsewhere.
    around = skills_around(args.target)
    how = PublishOptions(
        publisher=args.publisher or socket.gethostname(),
        keep=args.keep,
        dry_run=args.dry_run,
        limits=ContentLimits(dotfiles=settings.disclosure.serve_dotfiles),
        lease=LeaseTimes(wait_seconds=args.wait),
        on_wait=lambda holder: print_note(in_line(f"waiting for {holder}, who is publishing to {store.name}")),
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
            if around and (
                own := {os.path.realpath(one.skill.directory) for one in library.skills}.intersection(around)
            ):
                raise _in_library(f"the skill {min(own)}")
            try:
                return publish(library, store, publication_rows(settings, args.target, store), how, progress)
            except LibraryChanging:
                # What was read meanwhile belongs to no one state of the library.
                if attempt == _TRIES:
                    raise
            except IndexDamaged as error:
                hint = "skillhub index --verify finds out what is wrong with it"
                raise IndexUnavailable(f"The index cannot be read: {error}", hint=hint) from error
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
        "snapshot": report.snapshot,
        "changed": report.changed,
        "dry_run": dry_run,
        "skills": {
            "published": report.skills,
            "added": report.added,
            "modified": report.modified,
            "removed": report.removed_skills,
            "without_vector": report.unembedded,
        },
        "files": {"published": report.files, "bytes": report.bytes},
        "uploaded": {"objects": report.uploaded_objects, "bytes": report.uploaded_bytes},
        "already_there": {"files": report.known_files, "bytes": report.known_bytes},
        "left_out": [{"skill": one.skill, "path": one.path, "reason": one.reason} for one in report.left_out],
        "snapshots": {"kept": report.kept, "dropped": list(report.dropped)},
        "removed_objects": report.removed,
        "not_tidied": report.not_tidied,
        "seconds": round(seconds, 3),
    }


def publish_report_text(report: PublishReport, *, dry_run: bool, seconds: float) -> str:
    """Return the report as text."""
    what = "published" if report.changed else "unchanged"
    what = ("would publish" if report.changed else "would change nothing") if dry_run else what
    named = f"  {report.snapshot}" if report.snapshot else ""
    unembedded = f"; {report.unembedded:,} have no vector yet" if report.unembedded else ""
    changes = f"{report.added:,} new, {report.modified:,} changed, {report.removed_skills:,} removed"
    uploaded = f"{plural(report.uploaded_objects, 'object')}, {size_text(report.uploaded_bytes)}"
    there = f"{plural(report.known_files, 'file')} of {size_text(report.known_bytes)} needed none"
    lines = [
        in_line(f"{what}{named} to {report.target}"),
        f"skills     {report.skills:,}: {changes}{unembedded}",
        f"files      {report.files:,}, {size_text(report.bytes)}",
        f"{'to upload' if dry_run else 'uploaded':<10} {uploaded}; {there}",
    ]
    if not dry_run:
        dropped = f"; {len(report.dropped):,} dropped" if report.dropped else ""
        removed = f"; {plural(report.removed, 'object')} removed" if report.removed else ""
        lines.append(f"kept       {plural(report.kept, 'snapshot')}{dropped}{removed}")
    lines.append(f"time       {seconds:.2f} s")
    if report.not_tidied:
        lines += ["", in_line(f"Nothing was removed: {report.not_tidied}")]
    if report.left_out:
        lines.append(f"\nnot published ({len(report.left_out):,}):")
        for one in report.left_out[:_SHOWN]:
            place = f"{one.skill}: {one.path}" if one.path else one.skill
            lines.append(in_line(f"  {place} {one.reason}"))
        if len(report.left_out) > _SHOWN:
            lines.append(f"  and {len(report.left_out) - _SHOWN:,} more; --json lists all")
    return "\n".join(lines)


def _at_least_one(text: str) -> int:
    number = whole_number(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


def _seconds(text: str) -> int:
    number = whole_number(text)
    if not 0 <= number <= _DAY_SECONDS:
        raise argparse.ArgumentTypeError(f"must be from 0 to {_DAY_SECONDS}, not {number}")
    return number
