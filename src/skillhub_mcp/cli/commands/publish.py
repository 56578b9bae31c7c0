"""`skillhub publish`: write the library to a directory or bucket, list what was published, and go back to it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import datetime, timezone

from rich.filesize import decimal

from skillhub_mcp._util.wording import plural
from skillhub_mcp.bootstrap.hub import library_to_publish
from skillhub_mcp.chosen_roots import roots_of
from skillhub_mcp.cli.arguments import whole_number
from skillhub_mcp.cli.console import print_line, terminal_progress
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, first_lines, print_json
from skillhub_mcp.errors import InvalidArgument, InvalidSetting
from skillhub_mcp.settings import Settings, settings_of
from skillhub_mcp.store.publish import PublishOptions, PublishReport, publish, roll_back
from skillhub_mcp.store.tables import Publication, Target, lies_in, open_target, publications, unfit_reason

_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("target", metavar="TARGET", help="a directory, or s3://BUCKET/PREFIX, gs://…, az://…")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="list the publications that are kept")
    what.add_argument("--rollback", metavar="NUMBER", type=whole_number, help="publish an earlier publication again")
    what.add_argument("--rebuild", action="store_true", help="write everything again, over what is damaged")
    parser.add_argument(
        "--keep", metavar="N", default=10, type=whole_number, help="publications to keep (default: %(default)s)"
    )
    parser.add_argument(
        "--keep-days", metavar="DAYS", default=7, type=whole_number, help="and for how long (default: %(default)s)"
    )


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Write the skills that this hub serves, with their files and the index, to a LanceDB database in a directory or a
    bucket (s3://, gs://, az://), for servers started with --read-only. Only what changed is written, and servers see
    the last publication until the new one is complete. Skills that are disabled, denied, filtered, withheld or
    untrusted are not published, nor are dotfiles unless they are served.
    """
    # This command looks for changes even if SKILLHUB_SKIP_AUTO_REINDEX is set for servers.
    options = {**options, "SKILLHUB_SKIP_AUTO_REINDEX": "0"}
    settings = settings_of(options)
    target = open_target(args.target, settings.storage.options)
    if args.list:
        kept = publications(target)
        if args.json:
            return print_json({"target": target.name, "publications": [_json(one) for one in kept]})
        print_line(f"{plural(len(kept), 'publication')} at {target.name}, newest first; the first is served:")
        for one in kept:
            content = f"{plural(one.skills, 'skill')}, {plural(one.files, 'file')}, {decimal(one.bytes)}"
            print_line(f"{one.number:>6}  {_time(one)}  {content}")
        return EXIT_OK
    if args.rollback is not None:
        made = roll_back(target, args.rollback, dry_run=args.dry_run)
        if args.json:
            own = {"target": target.name, "rolled_back_to": args.rollback, "dry_run": args.dry_run}
            return print_json(own | _json(made))
        done = f"{'would publish' if args.dry_run else 'published'} {made.number}"
        print_line(f"{done}: what publication {args.rollback} had, {plural(made.skills, 'skill')}")
        return EXIT_OK
    report = _publish(args, target, settings, options)
    if args.json:
        left_out = [one._asdict() for one in report.left_out]
        return print_json(asdict(report) | {"left_out": left_out, "dry_run": args.dry_run})
    for line in _lines(report, dry_run=args.dry_run):
        print_line(line)
    return EXIT_OK


def _json(one: Publication) -> dict[str, object]:
    return one.model_dump(include={"number", "skills", "files", "bytes", "digest"}) | {"created_at": _time(one)}


def _time(one: Publication) -> str:
    return f"{datetime.fromtimestamp(one.created_at, timezone.utc):%Y-%m-%dT%H:%M:%SZ}"


def _publish(args: argparse.Namespace, target: Target, settings: Settings, options: Mapping[str, str]) -> PublishReport:
    if settings.replica.read_only:
        reason = "is set, and a replica has no skills of its own to publish"
        raise InvalidSetting("SKILLHUB_READ_ONLY", "1", reason, hint="publish where the skills are, without it")
    if problem := unfit_reason(args.target):
        raise InvalidArgument("TARGET", problem, hint="name a directory of its own for the publication")
    dotfiles = settings.disclosure.serve_dotfiles
    how = PublishOptions(args.keep, args.keep_days, dry_run=args.dry_run, rebuild=args.rebuild, dotfiles=dotfiles)
    with terminal_progress() as progress, open_hub(options) as hub:
        library = library_to_publish(settings, hub)
        if not library.skills:
            raise InvalidArgument(
                "SKILLS_DIR",
                "has no skill that can be published, and nothing replaces a publication by an empty one",
                hint="skillhub list --all shows what is there and why it is not served",
            )
        # Each publication would hold the one before. A link in a root may lead to a skill elsewhere.
        for place in (*(root.path for root in roots_of(settings)), *(one.skill.directory for one in library.skills)):
            if lies_in(args.target, place):
                reason = f"would be written into {place}, which is published"
                raise InvalidArgument("TARGET", reason, hint="name a directory outside of it")
        return publish(library, target, how, progress)


def _lines(report: PublishReport, *, dry_run: bool) -> Iterator[str]:
    number = f" {report.number}" if report.number else ""
    done = f"published{number}" if report.changed else f"unchanged since publication{number}"
    planned = "would publish" if report.changed else "would change nothing"
    yield f"{planned if dry_run else done}: {report.target}"
    unembedded = f"; {report.unembedded:,} have no vector yet" if report.unembedded else ""
    counts = f"{len(report.added):,} new, {len(report.modified):,} changed, {len(report.removed):,} removed"
    yield f"skills  {report.skills:,}: {counts}{unembedded}"
    new = f"{report.new_files:,} new, {decimal(report.new_bytes)}"
    yield f"files   {report.files:,}, {decimal(report.bytes)}: {new}"
    if report.dropped:
        yield f"dropped {plural(len(report.dropped), 'publication')}"
    if dry_run:
        marked = {"+": report.added, "~": report.modified, "-": report.removed}
        yield from first_lines([f"  {mark} {key}" for mark, keys in marked.items() for key in keys], _SHOWN)
    if report.left_out:
        left_out = [f"  {one.skill}{f': {one.path}' if one.path else ''} {one.reason}" for one in report.left_out]
        yield from ("", f"not published ({len(left_out):,}):", *first_lines(left_out, _SHOWN))
