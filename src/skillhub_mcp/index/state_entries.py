"""The entries of an index's state: one line of JSON for each SKILL.md that was read, in a file that is appended to.

A later line takes the place of an earlier one with the same key, and a line of nothing but a key removes it. Who reads
the file knows how many bytes of it were committed (`state`); what lies behind them never was.
"""

from __future__ import annotations

import contextlib
import gc
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from skillhub_mcp.index.keys import RootKeys, label_of
from skillhub_mcp.skills.model import FileStamp, HeaderShape, Skill
from skillhub_mcp.skills.rules import Diagnostic, Severity
from skillhub_mcp.skills.scanner import CachedSkillFile

# Parsed at once: larger blocks are no faster, and take memory that stays with the process.
_BLOCK_BYTES = 1 << 18
_MANY_BYTES = 1 << 23

# By label and directory.
Entries = Mapping[str, Mapping[str, CachedSkillFile]]


def encode_entries(keys: RootKeys, entries: Iterable[tuple[str, CachedSkillFile | None]]) -> Iterator[bytes]:
    """Yield a line for each entry of a root, by its directory; None for one that is gone. Raises UnicodeEncodeError."""
    dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    for directory, entry in entries:
        key = keys.key(directory)
        yield (dumps([key] if entry is None else _row(key, entry)) + "\n").encode("utf-8", "surrogateescape")


def read_entries(file: BinaryIO, begin: int, end: int, roots: Mapping[str, RootKeys], known: Entries) -> Entries:
    """Return the entries that `known` and the lines from byte `begin` to `end` of a file are, by label and directory.

    Raises OSError, and ValueError, LookupError or TypeError for a file that says something else.
    """
    found: dict[str, dict[str, CachedSkillFile]] = {}
    decoder = _Decoder()
    file.seek(begin)
    with garbage_collection_off():
        for block in _blocks(file, end - begin):
            text = block.decode("utf-8", "surrogateescape")
            for row in json.loads("[" + text[:-1].replace("\n", ",") + "]"):
                label = label_of(row[0])
                if label not in found:
                    found[label] = dict(known.get(label, {}))
                directory = roots[label].directory(row[0])
                if len(row) == 1:
                    found[label].pop(directory, None)
                else:
                    found[label][directory] = decoder.entry(directory, roots[label].path, row)
        if end - begin > _MANY_BYTES:
            # They stay for as long as the process runs: looking through them for garbage takes longer than this did.
            gc.freeze()
    return {**known, **found}


def earlier_entries(files: Mapping[str, Any], root: str) -> dict[str, CachedSkillFile]:
    """Return the entries of one root from a state of format 3 or 4, which had them in one document, by directory.

    Raises ValueError, LookupError or TypeError.
    """
    decoder, found = _Decoder(), {}
    for directory, file in files.items():
        # A state of an early release has no ctime: no file has this one, so each is read once more.
        stamp = [file["mtime_ns"], file.get("ctime_ns", 0), file["size"], file["read_at_ns"], file["sha256"]]
        skill = file.get("skill")
        of_skill = [] if skill is None else [file["header"], skill["name"], skill["description"], skill]
        found[directory] = decoder.entry(directory, root, ["", *stamp, file.get("diagnostics", ()), *of_skill])
    return found


def _blocks(file: BinaryIO, left: int) -> Iterator[bytes]:
    """Yield whole lines of the next `left` bytes of a file. Raises ValueError where they are no whole lines."""
    rest = b""
    while left:
        read = file.read(min(left, _BLOCK_BYTES))
        if not read:
            raise ValueError("the file ends too early")
        left -= len(read)
        lines, between, rest = (rest + read).rpartition(b"\n")
        if between:
            yield lines + between
    if rest:
        raise ValueError("the last line has no end")


@contextlib.contextmanager
def garbage_collection_off() -> Iterator[None]:
    """Collect no garbage meanwhile."""
    # Parsing creates a hundred thousand objects and no garbage: collecting takes a quarter longer.
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _row(key: str, entry: CachedSkillFile) -> list[object]:
    stamp, skill, shape = entry.stamp, entry.skill, entry.shape
    row: list[object] = [
        key,
        stamp.mtime_ns,
        stamp.ctime_ns,
        stamp.size,
        stamp.read_at_ns,
        stamp.content_hash,
        [[d.rule, d.severity.value, d.message, d.hint, d.line] for d in entry.diagnostics],
    ]
    if skill is None:
        return row
    header = [shape.lines, shape.longest, shape.longest_at, shape.markup]
    return [*row, header, skill.name, skill.description, _optional(skill)]


def _optional(skill: Skill) -> dict[str, object]:
    values = {
        "category": skill.category,
        "tags": skill.tags,
        "always_apply": skill.always_apply,
        "allowed_tools": skill.allowed_tools,
        "license": skill.license,
        "compatibility": skill.compatibility,
        "metadata": skill.metadata,
        "version": skill.version,
        "author": skill.author,
        "allowed_tools_text": skill.allowed_tools_text,
        "disable_model_invocation": skill.disable_model_invocation,
        "not_user_invocable": not skill.user_invocable,
        "argument_hint": skill.argument_hint,
    }
    return {key: value for key, value in values.items() if value}


class _Decoder:
    """Makes entries of rows. What many of them say alike is one object for all."""

    def __init__(self) -> None:
        self._diagnostics: dict[tuple[object, ...], Diagnostic] = {}
        self._shared: dict[Any, Any] = {}

    def entry(self, directory: str, root: str, row: list[Any]) -> CachedSkillFile:
        _, mtime_ns, ctime_ns, size, read_at_ns, content_hash, found, *of_skill = row
        # Types are checked only here: other code trusts them, and one wrong value would fail every scan.
        if not (mtime_ns.__class__ is ctime_ns.__class__ is size.__class__ is read_at_ns.__class__ is int):
            raise TypeError(directory)
        if content_hash.__class__ is not str:
            raise TypeError(directory)
        stamp = FileStamp(mtime_ns, size, content_hash, read_at_ns, ctime_ns)
        diagnostics = tuple([self._diagnostic(*one) for one in found]) if found else ()
        if not of_skill:
            return CachedSkillFile(root, stamp, None, diagnostics)
        header, name, description, optional = of_skill
        shape = HeaderShape(*header)
        if not (
            name.__class__ is description.__class__ is str and shape.lines.__class__ is shape.longest.__class__ is int
        ):
            raise TypeError(directory)
        shared, given = self._shared.setdefault, {}
        for key, value in optional.items():
            # Licences, authors and tags are few, and of much the same length as the objects that refer to them.
            given[key] = shared(value, value) if value.__class__ is str else value
        tags, tools = given.get("tags", ()), given.get("allowed_tools", ())
        skill = Skill(
            name,
            description,
            directory,
            root,
            given.get("category"),
            tuple([shared(tag, tag) for tag in tags]) if tags else (),
            given.get("always_apply", False),
            tuple([shared(tool, tool) for tool in tools]) if tools else (),
            given.get("license"),
            given.get("compatibility"),
            given.get("metadata", {}),
            diagnostics,
            stamp,
            given.get("version"),
            given.get("author"),
            given.get("allowed_tools_text"),
            given.get("disable_model_invocation", False),
            not given.get("not_user_invocable", False),
            given.get("argument_hint"),
        )
        return CachedSkillFile(root, stamp, skill, diagnostics, shape)

    def _diagnostic(self, rule: str, severity: str, message: str, hint: str, line: int | None) -> Diagnostic:
        given = (rule, severity, message, hint, line)
        found = self._diagnostics.get(given)
        if found is None:
            found = self._diagnostics[given] = Diagnostic(rule, Severity(severity), message, hint, line)
        return found
