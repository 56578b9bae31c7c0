"""`skillhub index --forget`: the roots that the index has rows of, and dropping those of some."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from skillhub_mcp.bootstrap.hub import index_writer
from skillhub_mcp.bootstrap.places import forget_kept
from skillhub_mcp.chosen_roots import roots_of
from skillhub_mcp.cli.output import EXIT_OK, plural, print_json, print_note, print_text
from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.index.indexed_roots import IndexedRoot, indexed_roots, is_forgotten, roots_to_forget
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import Settings

_KIBIBYTE = 1024


def forget(typed: Sequence[str], settings: Settings, *, dry_run: bool, as_json: bool) -> int:
    """Drop what the index has of some roots, and print which; of none, print those that could be dropped.

    Raises InvalidArgument for a root in use, or of no such name, and IndexUnavailable, also for a replica.
    """
    if settings.replica.read_only:
        raise IndexUnavailable(
            "A read-only replica has no rows of roots to forget",
            hint="forget them where the skills are, and run skillhub publish there",
        )
    writer = index_writer(settings)
    roots = indexed_roots(writer.states(), {root.path for root in roots_of(settings)})
    chosen = roots_to_forget(typed, roots)
    if chosen and not dry_run:
        _drop_kept(settings, chosen, roots)
        writer.forget([one.path for one in chosen])
    told = chosen if typed else tuple(one for one in roots if one.is_forgettable)
    forgotten = bool(chosen) and not dry_run
    if as_json:
        print_json({"forgotten": forgotten, "roots": [root_json(one) for one in told]})
        return EXIT_OK
    print_text("\n".join(map(in_line, _lines(told, forgotten=forgotten))))
    if forgotten and any(one.there for one in chosen):
        print_note("a server or a project that still uses it indexes it again")
    elif told and not forgotten:
        _hint(told, named=bool(typed))
    return EXIT_OK


def root_json(root: IndexedRoot) -> dict[str, object]:
    """Return what the index has of a root as JSON values."""
    return {
        "path": root.path,
        "there": root.there,
        "skills": root.skills,
        "bytes": root.size,
        "vectors": root.vectors,
        "read_at": _day(root) or None,
    }


def root_facts(root: IndexedRoot) -> str:
    """Return how much the index has of a root, such as `12 skills of 34 KiB, 12 vectors, last read 2026-10-01`."""
    vectors = f", {plural(root.vectors, 'vector')}" if root.vectors else ""
    day = _day(root)
    return (
        f"{plural(root.skills, 'skill')} of {max(1, round(root.size / _KIBIBYTE)) if root.size else 0:,} KiB{vectors}"
        f"{f', last read {day}' if day else ''}"
    )


def _drop_kept(settings: Settings, chosen: Sequence[IndexedRoot], roots: Sequence[IndexedRoot]) -> None:
    """Drop the caches beside the index first: stopped in between, the roots are still there to be forgotten."""
    names = [one.path for one in chosen]
    staying = [one.path for one in roots if one not in chosen]
    try:
        forget_kept(settings, partial(is_forgotten, forgotten=names, staying=staying))
    except OSError as error:
        raise IndexUnavailable(
            f"What is kept beside the index at {settings.index.db_path} cannot be written: {error.strerror or error}",
            hint="free space or grant access there",
        ) from error


def _lines(roots: Sequence[IndexedRoot], *, forgotten: bool) -> list[str]:
    if not roots:
        return ["every root that the index has is there and used by this configuration"]
    verb = "forgotten  " if forgotten else ""
    return [f"{verb}{one.path}  {root_facts(one)}{'' if one.there else ', not there any more'}" for one in roots]


def _hint(roots: Sequence[IndexedRoot], *, named: bool) -> None:
    if named:
        print_note("nothing was forgotten, because of --dry-run")
        return
    print_note("nothing was forgotten: another project or server may use these; name one, as --forget ROOT")
    if any(one.vectors for one in roots):
        print_note("whoever uses it again has its vectors made, and paid for, again")


def _day(root: IndexedRoot) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(root.read_at)) if root.read_at else ""
