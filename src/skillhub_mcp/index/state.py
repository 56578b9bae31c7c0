"""What does the published index hold? `index_state.json`, beside the database (DECISIONS 26).

The file is the commit point of indexing: it names the table version that readers may open, and it is replaced
atomically after that version is complete. For each SKILL.md it keeps mtime, size, content hash and what was
read from it, so that deciding "nothing changed" opens no file and loads no database.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from skillhub_mcp.skills.model import FileStamp, HeaderShape, Skill
from skillhub_mcp.skills.rules import Diagnostic, Severity
from skillhub_mcp.skills.scanner import CachedSkillFile, ScanCache

STATE_FORMAT = 3
STATE_FILE = "index_state.json"
NO_EMBEDDING = "none"

# Tells one state file from the next: inode, mtime and size.
StateStamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class RootState:
    """What the index covers of one root: seed 002 §4.2's hash, and what was read from each SKILL.md.

    A directory that two roots lead to is remembered by both, so that the servers of both know their own.
    `missing_vectors` counts rows that still wait for an embedding, because the provider failed.
    """

    digest: str
    missing_vectors: int
    memory: ScanCache


@dataclass(frozen=True, slots=True)
class IndexState:
    """One published index: its table version, its schema, whose embeddings it holds, and the roots it covers."""

    schema: int
    embedding: str
    table_version: int
    roots: Mapping[str, RootState]

    def memory_of(self, roots: Iterable[str]) -> ScanCache:
        """Return what is remembered below `roots`; where two of them lead to one directory, the earlier's."""
        known = [self.roots[root].memory for root in roots if root in self.roots]
        if len(known) == 1:
            return known[0]
        return {directory: entry for memory in reversed(known) for directory, entry in memory.items()}

    @property
    def memory(self) -> ScanCache:
        """What is remembered below all roots."""
        return self.memory_of(self.roots)


def state_path(db_path: str) -> str:
    """Return where the state of the database at `db_path` is kept."""
    return os.path.join(os.path.dirname(os.path.abspath(db_path)), STATE_FILE)


def state_stamp(path: str) -> StateStamp | None:
    """Return the stamp of the state file at `path`, or None where there is none."""
    try:
        return _stamp(os.stat(path))
    except OSError:
        return None


def load_state(path: str) -> IndexState | None:
    """Return the state at `path`, or None when there is none that can be used (then the index is rebuilt)."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file, _no_collecting():
            return _from_json(json.load(file))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        # A missing, half-written or foreign file means the same: nothing is known, and a rebuild loses nothing.
        return None


def save_state(path: str, state: IndexState) -> StateStamp:
    """Replace the state at `path` in one step and return its stamp. Raises OSError: then the old state is untouched.

    The caller holds the writer's lock, so one name will do for the new file, and a killed writer leaves but one.
    """
    new = f"{path}.new"
    try:
        with open(new, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(json.dumps(_to_json(state), ensure_ascii=False, separators=(",", ":")))
            file.flush()
            os.fsync(file.fileno())
            stamp = _stamp(os.fstat(file.fileno()))
        os.replace(new, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise
    return stamp


def root_digest(memory: ScanCache, root: str) -> str:
    """Return seed 002 §4.2's hash of `root`: of its sorted (relative path, mtime, size, content hash)."""
    above = os.path.join(root, "")
    lines = [
        f"{directory.removeprefix(above)}\0{entry.stamp.mtime_ns}\0{entry.stamp.size}\0{entry.stamp.content_hash}"
        for directory, entry in memory.items()
    ]
    return hashlib.sha256("\n".join(sorted(lines)).encode("utf-8", "surrogateescape")).hexdigest()


@contextlib.contextmanager
def _no_collecting() -> Iterator[None]:
    # A hundred thousand objects are made here and none of them is garbage: looking for some takes a quarter longer.
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _stamp(status: os.stat_result) -> StateStamp:
    return status.st_ino, status.st_mtime_ns, status.st_size


def _to_json(state: IndexState) -> dict[str, Any]:
    return {
        "format": STATE_FORMAT,
        "schema": state.schema,
        "embedding": state.embedding,
        "table_version": state.table_version,
        "roots": {
            root: {
                "hash": own.digest,
                "missing_vectors": own.missing_vectors,
                "files": {directory: _file_to_json(entry) for directory, entry in own.memory.items()},
            }
            for root, own in state.roots.items()
        },
    }


def _file_to_json(entry: CachedSkillFile) -> dict[str, Any]:
    stamp = entry.stamp
    written: dict[str, Any] = {
        "mtime_ns": stamp.mtime_ns,
        "size": stamp.size,
        "sha256": stamp.content_hash,
        "read_at_ns": stamp.read_at_ns,
    }
    if entry.diagnostics:
        written["diagnostics"] = [[d.rule, d.severity.value, d.message, d.hint, d.line] for d in entry.diagnostics]
    if entry.skill is not None:
        written["skill"] = _skill_to_json(entry.skill)
        shape = entry.shape
        written["header"] = [shape.lines, shape.longest, shape.longest_at, shape.markup]
    return written


def _skill_to_json(skill: Skill) -> dict[str, Any]:
    written: dict[str, Any] = {"name": skill.name, "description": skill.description}
    optional = {
        "category": skill.category,
        "tags": list(skill.tags),
        "always_apply": skill.always_apply,
        "allowed_tools": list(skill.allowed_tools),
        "license": skill.license,
        "compatibility": skill.compatibility,
        "metadata": dict(skill.metadata),
        "version": skill.version,
        "author": skill.author,
        "allowed_tools_text": skill.allowed_tools_text,
        "disable_model_invocation": skill.disable_model_invocation,
        "not_user_invocable": not skill.user_invocable,
        "argument_hint": skill.argument_hint,
    }
    return written | {key: value for key, value in optional.items() if value}


def _from_json(written: Any) -> IndexState | None:
    if written["format"] != STATE_FORMAT:
        return None
    return IndexState(
        schema=int(written["schema"]),
        embedding=str(written["embedding"]),
        table_version=int(written["table_version"]),
        roots={
            root: RootState(
                digest=str(own["hash"]),
                missing_vectors=int(own["missing_vectors"]),
                memory={directory: _file_from_json(file, directory, root) for directory, file in own["files"].items()},
            )
            for root, own in written["roots"].items()
        },
    )


def _file_from_json(file: Mapping[str, Any], directory: str, root: str) -> CachedSkillFile:
    stamp = FileStamp(file["mtime_ns"], file["size"], file["sha256"], file["read_at_ns"])
    # Numbers and text are held to be so here: elsewhere they are trusted, and one odd value would stop every scan.
    if not (stamp.mtime_ns.__class__ is stamp.size.__class__ is stamp.read_at_ns.__class__ is int):
        raise TypeError(directory)
    diagnostics: tuple[Diagnostic, ...] = ()
    if "diagnostics" in file:
        diagnostics = tuple(
            Diagnostic(rule, Severity(severity), message, hint, line)
            for rule, severity, message, hint, line in file["diagnostics"]
        )
    if "skill" not in file:
        return CachedSkillFile(root, stamp, None, diagnostics)
    written = file["skill"]
    if not (written["name"].__class__ is written["description"].__class__ is str):
        raise TypeError(directory)
    given = written.get
    skill = Skill(
        written["name"],
        written["description"],
        directory,
        root,
        given("category"),
        tuple(given("tags", ())),
        given("always_apply", False),
        tuple(given("allowed_tools", ())),
        given("license"),
        given("compatibility"),
        given("metadata", {}),
        diagnostics,
        stamp,
        given("version"),
        given("author"),
        given("allowed_tools_text"),
        given("disable_model_invocation", False),
        not given("not_user_invocable", False),
        given("argument_hint"),
    )
    shape = HeaderShape(*file["header"])
    if not (shape.lines.__class__ is shape.longest.__class__ is int):
        raise TypeError(directory)
    return CachedSkillFile(root, stamp, skill, diagnostics, shape)
