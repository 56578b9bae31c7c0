"""`skillhub snapshots`: what a publication keeps, which snapshot is served, which is always kept, and going back."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from skillhub_mcp.cli.arguments import Group, add_actions, add_json_option, add_setting_options
from skillhub_mcp.cli.output import EXIT_OK, plural, print_json, print_text, print_waiting, size_text
from skillhub_mcp.errors import InvalidArgument, PublicationMissing
from skillhub_mcp.harmless import in_line

if TYPE_CHECKING:
    from skillhub_mcp.storage.manifest import CommitPointer, ListedSnapshot
    from skillhub_mcp.storage.object_store import ObjectStore

_NEWEST_FIRST = "newest first; * is served"


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "snapshots",
        group=Group.SERVE,
        help="list the snapshots of a publication, keep one, or go back to one",
        description="What `skillhub publish` wrote to a directory or a bucket: its snapshots, of which replicas serve "
        "the current one.",
    )
    actions = add_actions(parser)
    for name, run_action, what in (
        ("list", _list, "list the snapshots that are kept"),
        ("pin", _pin, "have a snapshot kept until it is unpinned, however many follow"),
        ("unpin", _unpin, "let a snapshot go when enough have followed"),
        ("rollback", _rollback, "make an earlier snapshot the current one, which replicas serve from then on"),
    ):
        action = actions.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.")
        action.add_argument("target", metavar="TARGET", help="a directory, or a bucket as s3://bucket/prefix")
        if name != "list":
            needed = "?" if name == "rollback" else None
            otherwise = "; without it, the one before the current" if name == "rollback" else ""
            action.add_argument("snapshot", metavar="ID", nargs=needed, help=f"its id or number{otherwise}")
        add_json_option(action)
        add_setting_options(action)
        action.set_defaults(run=run_action)


def _list(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    from skillhub_mcp.storage.reading import PublicationReader

    store = _open(args, options)
    pointer, _ = PublicationReader(store).pointer()
    if not pointer.snapshots:
        # A first publisher is at work there, or was killed.
        raise PublicationMissing(store.name)
    if args.json:
        print_json(
            {
                "target": store.name,
                "current": pointer.current,
                "snapshots": [_json(one, pointer) for one in pointer.snapshots],
            }
        )
    else:
        print_text("\n".join(_lines(store.name, pointer)))
    return EXIT_OK


def _lines(target: str, pointer: CommitPointer) -> Iterator[str]:
    yield in_line(f"{plural(len(pointer.snapshots), 'snapshot')} at {target}, {_NEWEST_FIRST}:")
    for one in pointer.snapshots:
        told = [one.created_at, plural(one.skills, "skill"), size_text(one.bytes), f"by {one.publisher}"]
        mark, pinned = "*" if one.id == pointer.current else " ", "  pinned" if one.pinned else ""
        yield in_line(f"{mark} {one.id}  {'  '.join(told)}{pinned}")


def _json(one: ListedSnapshot, pointer: CommitPointer) -> dict[str, object]:
    return {
        "id": one.id,
        "created_at": one.created_at,
        "skills": one.skills,
        "bytes": one.bytes,
        "publisher": one.publisher,
        "version": one.version,
        "current": one.id == pointer.current,
        "pinned": one.pinned,
    }


def _pin(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    return _set_pin(args, options, pin=True)


def _unpin(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    return _set_pin(args, options, pin=False)


def _set_pin(args: argparse.Namespace, options: Mapping[str, str], *, pin: bool) -> int:
    from skillhub_mcp.storage.commit import change_pointer, pinned

    store, changed = _open(args, options), ""

    def change(pointer: CommitPointer) -> CommitPointer:
        nonlocal changed
        changed = _find(pointer, args.snapshot, store.name).id
        return pinned(pointer, changed, pin=pin, target=store.name)

    change_pointer(store, change)
    if args.json:
        print_json({"target": store.name, "snapshot": changed, "pinned": pin})
    else:
        kept = "is kept until it is unpinned" if pin else "goes when enough have followed"
        print_text(f"{changed} {kept}.")
    return EXIT_OK


def _rollback(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    from skillhub_mcp.storage.commit import change_pointer, rolled_back

    store, before = _open(args, options), ""

    def change(pointer: CommitPointer) -> CommitPointer:
        nonlocal before
        before = pointer.current
        wanted = _find(pointer, args.snapshot, store.name) if args.snapshot else _former(pointer, store.name)
        return rolled_back(pointer, wanted.id, target=store.name)

    current = change_pointer(store, change).current
    if args.json:
        print_json({"target": store.name, "current": current, "before": before})
    elif current == before:
        print_text(f"{current} is the current snapshot already.")
    else:
        print_text(
            f"{current} is the current snapshot again; it was {before}.\n"
            "Replicas serve it within their SKILLHUB_REFRESH_SECONDS. The next publication follows the newest."
        )
    return EXIT_OK


def _former(pointer: CommitPointer, target: str) -> ListedSnapshot:
    """Return the snapshot before the current one. Raises InvalidArgument where none is kept, and PublicationMissing."""
    current = pointer.served
    if current is None:
        raise PublicationMissing(target)
    for one in pointer.snapshots:
        if one.number < current.number:
            return one
    hint = f"skillhub snapshots list {shlex.quote(target)}"
    raise InvalidArgument("ID", "is required: no snapshot before the current one is kept", hint=hint)


def _find(pointer: CommitPointer, typed: str, target: str) -> ListedSnapshot:
    """Return the snapshot with that id or number. Raises PublicationMissing."""
    for one in pointer.snapshots:
        if typed == one.id or typed.lstrip("0") == str(one.number):
            return one
    raise PublicationMissing(target, typed)


def _open(args: argparse.Namespace, options: Mapping[str, str]) -> ObjectStore:
    from skillhub_mcp.bootstrap.publication import publication_store
    from skillhub_mcp.settings import settings_of

    return publication_store(settings_of(options), args.target, on_slow=print_waiting)
