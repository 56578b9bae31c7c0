"""The journal of a change: what it does, written before it is done, so that another process can complete or undo it.

The lock of skills is the commit: once it has the text that the journal announces, the change is completed, before that
it is taken back. A change that leaves the lock as it is commits by its journal. A journal names skills and changes,
never paths that are written to: whoever made it leads nothing out of the root.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from skillhub_mcp.foreign_json import BadJson, read_json
from skillhub_mcp.library.changes.own_places import is_change, is_plain_name

VERSION = 1


class Move(str, Enum):
    """What is done with one skill."""

    # From staging into the root, where nothing is.
    PUT = "put"
    # From staging into the root, and what is there into staging.
    SWAP = "swap"
    # From the root into staging.
    REMOVE = "remove"
    # From the trash into the root, where nothing is.
    RESTORE = "restore"


@dataclass(frozen=True, slots=True)
class Step:
    """What is done with the skill `name`.

    `fingerprint` is that of what comes in by PUT and SWAP; `source` the change whose trash RESTORE takes from.
    """

    move: Move
    name: str
    fingerprint: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Journal:
    """A change: its steps in order, the lock's path from the root on, and the SHA-256 of the text that it is to have.

    `lock_digest` is empty where the lock stays as it is; then `committed` says whether the change is made. `receipts`
    are the skills that get a new receipt.
    """

    change: str
    steps: tuple[Step, ...]
    lock_path: str = ""
    lock_digest: str = ""
    receipts: tuple[str, ...] = ()
    committed: bool = False


class BadJournal(ValueError):
    """A file that is no journal of ours; the message says why."""


def journal_text(journal: Journal) -> str:
    """Return a journal as it is written."""
    written = {
        "version": VERSION,
        "change": journal.change,
        "steps": [
            {"move": step.move.value, "name": step.name, "fingerprint": step.fingerprint, "source": step.source}
            for step in journal.steps
        ],
        "lock_path": journal.lock_path,
        "lock_digest": journal.lock_digest,
        "receipts": list(journal.receipts),
        "committed": journal.committed,
    }
    return json.dumps(written, indent=2) + "\n"


def parse_journal(text: str) -> Journal:
    """Return what a journal says. Raises BadJournal."""
    try:
        written = read_json(text)
    except BadJson as error:
        raise BadJournal(str(error)) from error
    if not isinstance(written, dict):
        raise BadJournal("it is not an object")
    if written.get("version") != VERSION:
        raise BadJournal(f"it has the version {written.get('version')!r}, not {VERSION}")
    return Journal(
        change=_of(written, "change", is_change),
        steps=tuple(map(_step, _list(written, "steps"))),
        lock_path=_of(written, "lock_path"),
        lock_digest=_of(written, "lock_digest"),
        receipts=tuple(_name(one) for one in _list(written, "receipts")),
        committed=written.get("committed") is True,
    )


def _step(written: Any) -> Step:
    if not isinstance(written, dict):
        raise BadJournal("a step is not an object")
    try:
        move = Move(written.get("move"))
    except ValueError as error:
        raise BadJournal(f"a step has the unknown move {written.get('move')!r}") from error
    return Step(
        move,
        _name(written.get("name")),
        _of(written, "fingerprint"),
        _of(written, "source", is_change if move is Move.RESTORE else _anything),
    )


def _name(written: Any) -> str:
    if not isinstance(written, str) or not is_plain_name(written):
        raise BadJournal(f"{written!r} is not the name of a skill's directory")
    return written


def _anything(_: str) -> bool:
    return True


def _of(written: dict[str, Any], key: str, is_right: Callable[[str], bool] = _anything) -> str:
    value = written.get(key)
    if not isinstance(value, str) or not is_right(value):
        raise BadJournal(f"its {key} is {value!r}")
    return value


def _list(written: dict[str, Any], key: str) -> list[Any]:
    value = written.get(key)
    if not isinstance(value, list):
        raise BadJournal(f"its {key} are {value!r}")
    return value
